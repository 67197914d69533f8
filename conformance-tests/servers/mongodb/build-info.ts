import { connect, isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import type { ServerInfo } from "../../src/harness.ts";
import type { Endpoint } from "../definition.ts";

const patienceMs = 2_000;

/** Asks a MongoDB, or a server that speaks its protocol, for its product and version. The command needs no login. */
export async function identifyMongo(endpoint: Endpoint): Promise<ServerInfo> {
  const reply = await askBuildInfo(endpoint);
  const stringAfter = (field: string): string | undefined =>
    new RegExp(`${field}\\0.{4}(.*?)\\0`, "s").exec(reply)?.[1];
  const ferret = stringAfter("\\x03ferretdb\\0.{4}\\x02version");
  if (ferret !== undefined) return { product: "FerretDB", version: ferret.replace(/^v/, "") };
  const version = stringAfter("\\x02version");
  if (version === undefined) throw new Error(`the server reports no version: ${stringAfter("\\x02errmsg")}`);
  return { product: "MongoDB", version };
}

/** Sends the command over a separate connection, so that starting a server needs no client library. */
async function askBuildInfo({ host, port, tls }: Endpoint): Promise<string> {
  const name = isIP(host) === 0 ? { servername: host } : {};
  const socket = tls === undefined ? connect({ host, port }) : connectTls({ host, port, ...name, ...tls });
  socket.once("timeout", () => socket.destroy(new Error(`no answer in ${patienceMs} ms`)));
  socket.write(buildInfoMessage());
  let reply = Buffer.alloc(0);
  try {
    for await (const chunk of socket.setTimeout(patienceMs)) {
      reply = Buffer.concat([reply, chunk]);
      if (reply.length >= 4 && reply.length >= reply.readInt32LE(0)) return reply.toString("latin1");
    }
  } finally {
    socket.destroy();
  }
  throw new Error("the server closed the connection");
}

/** An OP_MSG with the document `{ buildInfo: 1, $db: "admin" }`. */
function buildInfoMessage(): Buffer {
  const fields = Buffer.from("\x10buildInfo\0\x01\0\0\0\x02$db\0\x06\0\0\0admin\0\0", "latin1");
  const document = Buffer.concat([int32(fields.length + 4), fields]);
  const body = Buffer.concat([int32(0), Buffer.from([0]), document]);
  return Buffer.concat([int32(16 + body.length), int32(1), int32(0), int32(2013), body]);
}

function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}
