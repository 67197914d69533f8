/**
 * `node server.ts PORT FILE` adds the path of each request to the file and replies with its content. A child process in a
 * separate session does so, like a database's process for each connection.
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
