import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { StoreError, type StoreErrorCode } from "@scrollback/store-core";
import { fileHeaders } from "@scrollback/store-core/internal";
import { Access, type Refusal } from "./access.ts";
import { answer, type Source } from "./api.ts";
import { pageFiles } from "./page-files.ts";

/** The page runs no script but its own, loads nothing from elsewhere, and makes no markup of a text. */
const HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
  "cache-control": "no-store",
};

const statuses: Partial<Record<StoreErrorCode, number>> = {
  INVALID_ARGUMENT: 400,
  NOT_FOUND: 404,
  UNSUPPORTED: 400,
  UNAVAILABLE: 503,
};

/** A running inspector. */
export interface Inspector {
  /** With the token, which works once. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves the page and what it reads, on the loopback interface alone.
 *
 * @param port 0: any free one.
 * @param redact removes secrets from the text of an error.
 */
export async function startInspector(
  source: Source,
  { port, redact }: { readonly port: number; readonly redact: (text: string) => string },
): Promise<Inspector> {
  const ending = new AbortController();
  const server = createServer();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const { port: opened } = server.address() as AddressInfo;
  const access = new Access(opened);
  server.on("request", (request, response) => {
    const closed = new AbortController();
    response.on("close", () => closed.abort());
    const signal = AbortSignal.any([ending.signal, closed.signal]);
    respond(source, access, request, response, signal).catch((error: unknown) => {
      if (response.headersSent || response.destroyed) return void response.destroy();
      const isKnown = StoreError.is(error);
      const text = isKnown ? `${error.code}: ${error.message}` : String(error);
      send(response, (isKnown && statuses[error.code]) || 500, "text/plain", redact(text));
    });
  });
  return {
    url: `http://127.0.0.1:${opened}/?token=${access.token}`,
    async close() {
      ending.abort();
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

const unknownPath: Refusal = { status: 404, problem: "there is no such page" };

async function respond(
  source: Source,
  access: Access,
  request: IncomingMessage,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const refusal = access.refusal(request);
  if (refusal) return refuse(response, refusal);
  // A target of another form names a host of its own.
  if (!/^\/(?!\/)/.test(request.url ?? "")) return refuse(response, unknownPath);
  const url = new URL(`http://inspector${request.url}`);
  const token = url.searchParams.get("token");
  if (url.pathname === "/" && token !== null) {
    const cookie = access.redeem(request, token);
    if (cookie !== undefined) response.setHeader("set-cookie", cookie);
    if (cookie !== undefined || access.isGranted(request)) {
      // The token does not stay in the address bar.
      response.setHeader("location", "/");
      return send(response, 303, "text/plain", "");
    }
  }
  if (!access.isGranted(request))
    return refuse(response, {
      status: 401,
      problem: "open the URL that scrollback ui has printed; it works once, in one browser",
    });
  const file = Object.hasOwn(pageFiles, url.pathname) ? pageFiles[url.pathname] : undefined;
  if (file) return send(response, 200, file.type, file.text);
  const answered = await answer(source, url, signal);
  if (!answered) return refuse(response, unknownPath);
  if ("json" in answered) return send(response, 200, "application/json", JSON.stringify(answered.json));
  if ("text" in answered) return send(response, 200, "text/plain", answered.text, fileHeaders("text/plain"));
  send(response, 200, answered.mediaType, answered.content, fileHeaders(answered.mediaType));
}

function refuse(response: ServerResponse, { status, problem }: Refusal): void {
  if (status === 405) response.setHeader("allow", "GET, HEAD");
  send(response, status, "text/plain", problem);
}

/** @param headers take the place of those of the page. */
function send(
  response: ServerResponse,
  status: number,
  type: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): void {
  const isText = typeof body === "string";
  const all = { ...HEADERS, "content-type": type, ...headers, "cross-origin-resource-policy": "same-origin" };
  response.writeHead(status, {
    ...all,
    "content-type": isText ? `${all["content-type"]}; charset=utf-8` : all["content-type"],
    "content-length": Buffer.byteLength(body),
  });
  response.end(body);
}
