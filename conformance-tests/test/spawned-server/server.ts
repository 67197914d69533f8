/**
 * `node server.ts PORT FILE` adds the path of each request to the file and replies with all that is in it. A process below
 * it, in a session of its own, does so, as a database's does for each connection.
 */
import { fork } from "node:child_process";
import { appendFileSync, readFileSync } from "node:fs";
import { createServer } from "node:http";

const [port = "", file = "", role = "server"] = process.argv.slice(2);

if (role === "server") fork(import.meta.filename, [port, file, "worker"], { detached: true });
else {
  const server = createServer((request, response) => {
    appendFileSync(file, request.url?.slice(1) ?? "");
    response.end(readFileSync(file, "utf8"));
  });
  server.listen(Number(port), "127.0.0.1");
}
