import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { Endpoint } from "../definition.ts";

const patienceMs = 2_000;
const SSL_REQUEST = 80877103;
const PROTOCOL_3 = 3 << 16;

/**
 * Starts a session and returns the `server_version` that the server reports; undefined if the server asks for a password first.
 * Rejects while the server does not accept sessions, with the server's reason.
 */
export async function reportedVersion(endpoint: Endpoint, database: string): Promise<string | undefined> {
  const { host, port, username = "postgres", tls } = endpoint;
  const plain = connect({ host, port });
  let socket: Socket = plain;
  const timer = setTimeout(() => socket.destroy(new Error("no answer")), patienceMs);
  // A port that the engine forwards accepts connections before the server does, and closes them without an error.
  const ended = new AbortController();
  plain.once("close", () => ended.abort());
  try {
    await once(plain, "connect", ended);
    if (tls !== undefined) {
      plain.write(message(SSL_REQUEST));
      const [answer] = await once(plain, "data", ended);
      if (String(answer) !== "S") throw new Error("the server does not speak TLS");
      socket = connectTls({ socket: plain, host, ...tls });
      await once(socket, "secureConnect", ended);
    }
    socket.write(message(PROTOCOL_3, `user\0${username}\0database\0${database}\0\0`));
    let received: Buffer = Buffer.alloc(0);
    for await (const chunk of socket) {
      received = Buffer.concat([received, chunk]);
      const answer = versionIn(received);
      if (answer !== "more") return answer;
    }
    throw new Error("the server closed the connection");
  } finally {
    clearTimeout(timer);
    socket.destroy();
    plain.destroy();
  }
}

function message(code: number, text = ""): Buffer {
  const bytes = Buffer.alloc(8 + Buffer.byteLength(text));
  bytes.writeInt32BE(bytes.length, 0);
  bytes.writeInt32BE(code, 4);
  bytes.write(text, 8);
  return bytes;
}

function versionIn(received: Buffer): string | undefined | "more" {
  for (let at = 0; at + 5 <= received.length; ) {
    const type = received.toString("latin1", at, at + 1);
    const end = at + 1 + received.readInt32BE(at + 1);
    if (end > received.length) return "more";
    const body = received.subarray(at + 5, end);
    if (type === "E") throw new Error(body.toString("utf8").replaceAll("\0", " "));
    if (type === "R" && body.readInt32BE(0) !== 0) return undefined;
    const [name, value] = type === "S" ? body.toString("utf8").split("\0") : [];
    if (name === "server_version") return value;
    at = end;
  }
  return "more";
}
