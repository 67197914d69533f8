import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** An answer in the format of DynamoDB. */
export interface Answer {
  readonly status: number;
  readonly body: object;
  /** Whether the answer begins but never ends. */
  readonly isEndless?: boolean;
}

/** An error answer of DynamoDB. */
export function refusal(name: string, message = name, status = 400): Answer {
  return { status, body: { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message } };
}

/** The answer to a transaction that was cancelled, one code an action. */
export function cancelled(...codes: string[]): Answer {
  const { status, body } = refusal("TransactionCanceledException", `Transaction cancelled [${codes.join()}]`);
  return { status, body: { ...body, CancellationReasons: codes.map((Code) => ({ Code })) } };
}

/**
 * A proxy between a client and the server that answers some requests itself, because DynamoDB Local never throttles, accepts
 * any credentials and creates tables at once.
 *
 * @example
 * await using gateway = await openGateway(server.url);
 * gateway.answer = (action) => (action === "PutItem" ? refusal("ThrottlingException") : undefined);
 */
export interface Gateway extends AsyncDisposable {
  readonly url: string;
  /** The actions of the requests so far. */
  readonly seen: string[];
  /** Called for each request. Returns the answer, or undefined to forward the request. */
  answer: (action: string) => Answer | undefined;
  /** Called with each request that was answered or forwarded. */
  onBody: ((action: string, body: Record<string, unknown>) => void) | undefined;
  /** Changes the reply of the server. */
  change: ((action: string, reply: Record<string, unknown>) => object) | undefined;
}

export async function openGateway(target: string): Promise<Gateway> {
  const server = createServer((incoming, outgoing) => {
    const action = String(incoming.headers["x-amz-target"]).replace(/^.*\./, "");
    gateway.seen.push(action);
    const answer = gateway.answer(action);
    void text(incoming).then(
      (body) => gateway.onBody?.(action, JSON.parse(body)),
      () => undefined,
    );
    if (!answer)
      return passOn(
        target,
        incoming,
        outgoing,
        gateway.change && ((reply) => gateway.change?.(action, reply) ?? reply),
      );
    incoming.on("end", () => {
      outgoing.writeHead(answer.status, { "content-type": "application/x-amz-json-1.0" });
      outgoing.write(JSON.stringify(answer.body));
      if (!answer.isEndless) outgoing.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const gateway: Gateway = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: [],
    answer: () => undefined,
    onBody: undefined,
    change: undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return gateway;
}

function passOn(
  target: string,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  change: ((reply: Record<string, unknown>) => object) | undefined,
): void {
  const { method = "POST", headers } = incoming;
  const onward = request(target, { method, headers }, (reply) => {
    // The server's checksum is of another body.
    const { "x-amz-crc32": _, "content-length": __, ...changed } = reply.headers;
    outgoing.writeHead(reply.statusCode ?? 502, change ? changed : reply.headers);
    if (!change) reply.pipe(outgoing);
    else
      void text(reply).then(
        (body) => outgoing.end(JSON.stringify(change(JSON.parse(body)))),
        () => outgoing.destroy(),
      );
  });
  onward.on("error", () => outgoing.destroy());
  incoming.pipe(onward);
}
