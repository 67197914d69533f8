import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

// A server on loopback that answers as OpenAI's and Anthropic's APIs do, by a script: each question takes two rounds of two calls in
// parallel, then a text. Like the APIs, it refuses a history in which a call and its result are not together.

type Fields = Record<string, unknown>;

interface Format {
  /** The problem of a request's history. */
  problem(history: readonly Fields[]): string | undefined;
  isQuestion(message: Fields): boolean;
  /** Whether a message makes calls. */
  isRound(message: Fields): boolean;
  calls(ids: readonly string[]): Fields;
  text(text: string): Fields;
}

const list = (value: unknown) => (Array.isArray(value) ? (value as Fields[]) : []);
const idsOf = (fields: readonly Fields[], name: string) => fields.map((one) => String(one[name]));
const isSame = (some: readonly string[], others: readonly string[]) =>
  some.toSorted().join() === others.toSorted().join();
const args = JSON.stringify({ to: "the harbour" });

const completions: Format = {
  problem(history) {
    for (let at = 0; at < history.length; at++) {
      const ids = idsOf(list(history[at]?.tool_calls), "id");
      const end = history.findIndex(({ role }, index) => index > at && role !== "tool");
      const results = history.slice(at + 1, end < 0 ? undefined : end);
      if (history[at]?.role === "tool") return "a result without its call";
      if (!isSame(ids, idsOf(results, "tool_call_id"))) return "the calls and results differ";
      at += results.length;
    }
    return undefined;
  },
  isQuestion: ({ role }) => role === "user",
  isRound: ({ tool_calls: calls }) => list(calls).length > 0,
  calls: (ids) => ({
    choices: [
      {
        message: {
          role: "assistant",
          content: null,
          refusal: null,
          tool_calls: ids.map((id) => ({
            id,
            type: "function",
            function: { name: "find_tram", arguments: args },
          })),
        },
      },
    ],
  }),
  text: (text) => ({ choices: [{ message: { role: "assistant", content: text, refusal: null } }] }),
};

const responses: Format = {
  problem(history) {
    const indexesOf = (type: string) =>
      new Map(history.flatMap((item, index) => (item.type === type ? [[String(item.call_id), index]] : [])));
    const [calls, outputs] = [indexesOf("function_call"), indexesOf("function_call_output")];
    for (const [id, index] of outputs)
      if ((calls.get(id) ?? Number.POSITIVE_INFINITY) > index) return "a result without its call";
    if (calls.size !== outputs.size) return "a call without its result";
    const isCut = history.some(({ type }, index) => {
      const next = history[index + 1];
      return type === "reasoning" && next?.type !== "function_call" && next?.role !== "assistant";
    });
    return isCut ? "reasoning without the item that it belongs to" : undefined;
  },
  isQuestion: ({ role }) => role === "user",
  isRound: ({ type }) => type === "reasoning",
  calls: (ids) => ({
    object: "response",
    output: [
      { type: "reasoning", id: `rs_${ids[0]}`, summary: [], encrypted_content: "x" },
      ...ids.map((id) => ({ type: "function_call", call_id: id, name: "find_tram", arguments: args })),
    ],
  }),
  text: (text) => ({
    object: "response",
    output: [
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text, annotations: [] }],
      },
    ],
  }),
};

const isCall = ({ type }: Fields) => type === "tool_use";
const isResult = ({ type }: Fields) => type === "tool_result";
const anthropic: Format = {
  problem(history) {
    if (history[0]?.role !== "user") return "the first message is not a user's";
    let open: readonly string[] = [];
    for (const { role, content } of history) {
      const results = list(content).filter(isResult);
      if (role === "user" && !isSame(open, idsOf(results, "tool_use_id")))
        return "the calls and results differ";
      open = role === "user" ? [] : idsOf(list(content).filter(isCall), "id");
    }
    return undefined;
  },
  isQuestion: ({ role, content }) => role === "user" && !list(content).some(isResult),
  isRound: ({ content }) => list(content).some(isCall),
  calls: (ids) => ({
    type: "message",
    role: "assistant",
    content: [
      { type: "thinking", thinking: "Look.", signature: "x" },
      ...ids.map((id) => ({ type: "tool_use", id, name: "find_tram", input: { to: "the harbour" } })),
    ],
  }),
  text: (text) => ({ type: "message", role: "assistant", content: [{ type: "text", text }] }),
};

const formats: Readonly<Record<string, Format>> = {
  "/chat/completions": completions,
  "/responses": responses,
  "/v1/messages": anthropic,
};

/** A request that the server got. */
interface SeenRequest {
  readonly history: readonly Fields[];
  readonly problem: string | undefined;
}

/** Starts the server. */
export async function startSdkServer() {
  const requests: SeenRequest[] = [];
  let number = 0;
  const server = createServer(async (request, response) => {
    const format = formats[request.url ?? ""];
    const body = await jsonOf(request);
    const history = list(body.messages ?? body.input);
    const problem = format ? format.problem(history) : `no such path: ${request.url}`;
    requests.push({ history, problem });
    response.setHeader("content-type", "application/json");
    if (!format || problem !== undefined) {
      response.statusCode = 400;
      response.end(JSON.stringify({ error: { type: "invalid_request_error", message: problem } }));
      return;
    }
    const turn = history.slice(history.findLastIndex((message) => format.isQuestion(message)));
    const rounds = turn.filter((message) => format.isRound(message)).length;
    const answer =
      rounds < 2 ? format.calls([`call_${++number}`, `call_${++number}`]) : format.text("Line 4.");
    response.end(JSON.stringify({ id: "answer", model: "scripted", ...answer }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function jsonOf(request: IncomingMessage): Promise<Fields> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += chunk;
  return JSON.parse(text);
}
