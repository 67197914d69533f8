import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { ServerInfo } from "../../src/harness.ts";
import type { Endpoint } from "../definition.ts";

const patienceMs = 2_000;

/** Asks a Redis, or a server that speaks its protocol, for its product and version. Rejects while the server loads its data. */
export async function identifyRedis(endpoint: Endpoint): Promise<ServerInfo> {
  const info = await readInfo(endpoint);
  const field = (name: string): string | undefined => new RegExp(`^${name}:(.*?)\r?$`, "m").exec(info)?.[1];
  if (field("loading") === "1") throw new Error("the server is loading its data");
  const valkey = field("valkey_version");
  const version = valkey ?? field("redis_version");
  if (version === undefined) throw new Error("the server's INFO contains no version");
  return { product: valkey === undefined ? "Redis" : "Valkey", version };
}

/** Sends AUTH and INFO over a separate connection, so that starting a server needs no client library. */
async function readInfo(endpoint: Endpoint): Promise<string> {
  const socket = open(endpoint);
  const login =
    endpoint.password === undefined ? [] : [["AUTH", endpoint.username ?? "default", endpoint.password]];
  socket.write([...login, ["INFO"]].map(encodeCommand).join(""));
  let answer = "";
  try {
    for await (const chunk of socket.setEncoding("utf8").setTimeout(patienceMs)) {
      answer += chunk;
      const refusal = /^-(.*)\r$/m.exec(answer)?.[1];
      if (refusal !== undefined) throw new Error(`the server answered: ${refusal}`);
      const bulk = /\$(\d+)\r\n/.exec(answer);
      const start = bulk === null ? 0 : bulk.index + bulk[0].length;
      if (bulk !== null && Buffer.byteLength(answer.slice(start)) >= Number(bulk[1]))
        return answer.slice(start);
    }
  } finally {
    socket.destroy();
  }
  throw new Error("the server closed the connection");
}

function open({ host, port, tls }: Endpoint): Socket {
  const socket = tls === undefined ? connect({ host, port }) : connectTls({ host, port, ...tls });
  return socket.once("timeout", () => socket.destroy(new Error(`no answer in ${patienceMs} ms`)));
}

function encodeCommand(words: string[]): string {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join("")}`;
}
