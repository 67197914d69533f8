import type { Send } from "../src/protocol.ts";
import { RemoteDriver } from "../src/remote-driver.ts";

/** The URL of the threads of a harness: `http://127.0.0.1:<port>/<kind>/<namespace>`. Plain data, because it is sent to child processes. */
export type Namespace = string;

/** Sends the requests of a driver to workerd, as a stub does to an object. */
export function sendTo(namespace: Namespace): Send {
  return async (request) => {
    const { pathname } = new URL(request.url);
    const body = await request.text();
    const headers = { connection: "close", "accept-encoding": "identity" };
    try {
      const reply = await fetch(namespace + pathname, { method: "POST", body, headers });
      return new Response(await reply.text());
    } catch (cause) {
      // The message of a stub whose connection broke, with the address that some errors of `fetch` lack.
      const { hostname: address, port } = new URL(namespace);
      const lost = new Error("Network connection lost.", { cause });
      throw Object.assign(lost, { code: "ECONNRESET", address, port: Number(port) });
    }
  };
}

/** A driver on a namespace. Imported by child processes. */
export const connect = (namespace: unknown) => new RemoteDriver(sendTo(String(namespace)));
