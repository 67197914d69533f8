import type { RequestListener } from "node:http";
import { checkOptions, invalid } from "@scrollback/store-core/driver";
import { isFunction, reporter } from "@scrollback/store-core/internal";
import { errorResponse, isServerError } from "./responses.ts";

/** The options of {@link nodeListener}. */
export interface NodeListenerOptions {
  /** Called with errors that the handler throws, except those of clients, and of response bodies. Default: `console.error`. */
  onError?(error: unknown): void;
}

/**
 * Serves a fetch handler with `node:http`, by the package `srvx`. If a client disconnects, its answer is still completed. An error
 * that the handler throws becomes a response; a body that fails ends the connection. A host with a path is 400.
 *
 * @throws StoreError `INVALID_ARGUMENT` for wrong options.
 *
 * @example
 * createServer(nodeListener((request) => chat.fetch(request, { owner: userOf(request) }))).listen(3000);
 */
export function nodeListener(
  handler: (request: Request) => Response | Promise<Response>,
  options: NodeListenerOptions = {},
): RequestListener {
  checkOptions("nodeListener", options, { onError: isFunction });
  const report = reporter(options.onError ?? console.error);
  const answer = async (request: Request) => {
    try {
      checkHost(request.headers.get("host"));
      const response: Response | undefined = await handler(request);
      if (!response) throw new TypeError("nodeListener: the handler returned no Response");
      return response;
    } catch (error) {
      if (isServerError(error)) report(error);
      return errorResponse(error);
    }
  };
  let listener: Promise<RequestListener> | undefined;
  return async (incoming, outgoing) => {
    outgoing.on("close", () => {
      if (outgoing.errored) report(outgoing.errored);
    });
    // Not all platforms on which this package runs have the modules of Node's server.
    listener ??= import("srvx/node").then(({ toNodeHandler }) => toNodeHandler(answer) as RequestListener);
    await (await listener)(incoming, outgoing);
  };
}

/** Refuses a host that is more than a name and a port: a URL that is built of it would have another path. */
function checkHost(host: string | null): void {
  if (host && (/[/?#@\\\s]/.test(host) || !URL.canParse(`http://${host}`)))
    invalid("request: the host is not valid");
}
