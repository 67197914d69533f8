import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

interface Request {
  readonly previous_response_id?: string;
  readonly input: { role?: string; content?: unknown }[];
  readonly stream?: boolean;
}

/**
 * A server with the part of OpenAI's Responses API that a conversation needs. It stores each response, continues from the
 * one that a request names, and answers with the number of inputs so far.
 */
export class ResponsesServer implements AsyncDisposable {
  readonly requests: Request[] = [];
  readonly #known = new Map<string, number>();
  readonly #server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    const body: Request = JSON.parse(text);
    this.requests.push(body);
    const { previous_response_id: previous, input, stream } = body;
    if (previous !== undefined && !this.#known.has(previous)) {
      const error = { message: "Previous response not found.", type: "invalid_request_error" };
      response.writeHead(400, { "Content-Type": "application/json" }).end(JSON.stringify({ error }));
      return;
    }
    const id = `resp_${this.requests.length}`;
    const known = (this.#known.get(previous ?? "") ?? 0) + input.length;
    this.#known.set(id, known);
    const message = {
      type: "message",
      id: `msg_${id}`,
      role: "assistant",
      content: [{ type: "output_text", text: `I know ${known} inputs.`, annotations: [] }],
    };
    const usage = {
      input_tokens: 1,
      output_tokens: 1,
      input_tokens_details: { cached_tokens: 0 },
      output_tokens_details: { reasoning_tokens: 0 },
    };
    const answer = { id, created_at: 1, model: "gpt", output: [message], usage, incomplete_details: null };
    if (!stream) {
      response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify(answer));
      return;
    }
    response.writeHead(200, { "Content-Type": "text/event-stream" });
    const item_id = message.id;
    const events = [
      { type: "response.created", response: { id, created_at: 1, model: "gpt" } },
      { type: "response.output_item.added", output_index: 0, item: { ...message, content: [] } },
      { type: "response.output_text.delta", item_id, output_index: 0, delta: message.content[0]?.text },
      { type: "response.output_item.done", output_index: 0, item: message },
      { type: "response.completed", response: answer },
    ];
    for (const event of events) response.write(`data: ${JSON.stringify(event)}\n\n`);
    response.end("data: [DONE]\n\n");
  });

  static async start(): Promise<ResponsesServer> {
    const server = new ResponsesServer();
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
