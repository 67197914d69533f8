import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import { ReadableStream } from "node:stream/web";
import { StoreError } from "@scrollback/store-core";
import { errorResponse } from "./error-response.ts";

/**
 * Serves a fetch handler with `node:http`. If a client disconnects, its answer is still completed.
 *
 * @example
 * createServer(nodeListener((request) => chat.fetch(request, { owner: userOf(request) }))).listen(3000);
 */
export function nodeListener(handler: (request: Request) => Response | Promise<Response>): RequestListener {
  return (incoming, outgoing) => void serve(handler, incoming, outgoing);
}

async function serve(
  handler: (request: Request) => Response | Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const response = await answer(handler, incoming);
  // The unread rest of a request's body would be read as the next request, or block it.
  outgoing.on("finish", () => incoming.resume());
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.flushHeaders();
  const reader = response.body?.getReader();
  if (!reader) return void outgoing.end();
  outgoing.on("close", () => void reader.cancel().catch(() => undefined));
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      if (!outgoing.write(next.value)) await drained(outgoing);
    }
    outgoing.end();
  } catch (error) {
    // A body that is cut off must not look complete.
    outgoing.destroy(error instanceof Error ? error : undefined);
  }
}

async function answer(
  handler: (request: Request) => Response | Promise<Response>,
  incoming: IncomingMessage,
): Promise<Response> {
  try {
    return await handler(checkedRequest(incoming));
  } catch (error) {
    return errorResponse(error);
  }
}

/** @throws StoreError `INVALID_ARGUMENT` for requests that `fetch` does not support, such as `TRACE`. */
function checkedRequest(incoming: IncomingMessage): Request {
  try {
    return requestOf(incoming);
  } catch (cause) {
    throw new StoreError("INVALID_ARGUMENT", "request: the method, the path or the host is not valid", {
      cause,
    });
  }
}

function requestOf(incoming: IncomingMessage): Request {
  const { method = "GET", url = "/", headers, headersDistinct } = incoming;
  const isEncrypted = "encrypted" in incoming.socket;
  const target = new URL(`${isEncrypted ? "https" : "http"}://${headers.host ?? "localhost"}${url}`);
  const list = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(target, {
    method,
    headers: list,
    ...(hasBody && { body: bodyOf(incoming), duplex: "half" }),
  });
}

/** Unlike with `Readable.toWeb`, cancelling the stream does not change the connection. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  return ReadableStream.from<Uint8Array>(incoming.iterator({ destroyOnReturn: false }));
}

/** Resolves when the response can take more data, or is closed. */
async function drained(outgoing: ServerResponse): Promise<void> {
  if (outgoing.destroyed) return;
  await new Promise<void>((resolve) => {
    const done = () => {
      outgoing.off("drain", done).off("close", done);
      resolve();
    };
    outgoing.on("drain", done).on("close", done);
  });
}
