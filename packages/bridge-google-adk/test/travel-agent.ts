import { BaseLlm, FunctionTool, LlmAgent, type LlmRequest, type LlmResponse } from "@google/adk";

/** A scripted model: it calls the tool once per turn, then answers with the conversation so far. */
class ScriptedModel extends BaseLlm {
  /** The prompt of each call, one line per message. */
  readonly read: string[][] = [];

  constructor() {
    super({ model: "scripted" });
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    this.read.push(
      contents.map(({ role, parts = [] }) => {
        const texts = parts.map(
          ({ text, functionCall, functionResponse }) =>
            text ??
            (functionCall
              ? `calls ${functionCall.name}`
              : `gets ${JSON.stringify(functionResponse?.response)}`),
        );
        return `${role}: ${texts.join(" ")}`;
      }),
    );
    const last = contents.at(-1)?.parts?.[0];
    if (last?.functionResponse) {
      yield { content: { role: "model", parts: [{ text: "Line 4, " }] }, partial: true };
      yield { content: { role: "model", parts: [{ text: "Line 4, every ten minutes." }] } };
    } else {
      yield { content: { role: "model", parts: [{ functionCall: { name: "find_tram", args: {} } }] } };
    }
  }

  override async connect(): Promise<never> {
    throw new Error("it is not live");
  }
}

/** An agent with a tool that counts its calls in each scope of the state. */
export function travelAgent(): { agent: LlmAgent; model: ScriptedModel } {
  const model = new ScriptedModel();
  const findTram = new FunctionTool({
    name: "find_tram",
    description: "Finds a tram",
    execute: (_input, context) => {
      for (const key of ["uses", "user:uses", "app:uses", "temp:uses"]) {
        context?.state.set(key, (context.state.get<number>(key) ?? 0) + 1);
      }
      return { line: 4 };
    },
  });
  return { agent: new LlmAgent({ name: "guide", model, tools: [findTram] }), model };
}
