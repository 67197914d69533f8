import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

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
}

export async function openGateway(target: string): Promise<Gateway> {
  const server = createServer((incoming, outgoing) => {
    const action = String(incoming.headers["x-amz-target"]).replace(/^.*\./, "");
    gateway.seen.push(action);
    const answer = gateway.answer(action);
    if (!answer) return passOn(target, incoming, outgoing);
    incoming.resume().on("end", () => {
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
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return gateway;
}

function passOn(target: string, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { method = "POST", headers } = incoming;
  const onward = request(target, { method, headers }, (reply) => {
    outgoing.writeHead(reply.statusCode ?? 502, reply.headers);
    reply.pipe(outgoing);
  });
  onward.on("error", () => outgoing.destroy());
  incoming.pipe(onward);
}
