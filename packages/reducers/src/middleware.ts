import type { ChatMessage, Part } from "@scrollback/store-core";
import { hasMethods } from "@scrollback/store-core/driver";
import {
  checkMessages,
  checkValue,
  pairedHistory,
  reducedHistory,
  reportUnpaired,
} from "@scrollback/store-core/internal";
import type { LanguageModelMiddleware } from "ai";
import type { ChatReducer } from "./reducer.ts";

type Prompt = Parameters<NonNullable<LanguageModelMiddleware["transformParams"]>>[0]["params"]["prompt"];
type PromptMessage = Prompt[number];

/**
 * A middleware for the AI SDK's `wrapLanguageModel`. Each call to the model, generating or streaming, receives the reduced
 * history, also within a tool loop: the call and the results that the model continues from are always kept. The caller's and the stored
 * history stay whole. The call's abort signal reaches the
 * reducer, and an error of the reducer fails the call. A tool call without its result, or a result without its call, is left out;
 * a warning of the process reports the first.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid reducer.
 * @example
 * const model = wrapLanguageModel({
 *   model: openai("gpt-5"),
 *   middleware: reducingMiddleware(new TruncatingReducer({ targetCount: 50 })),
 * });
 * const { text } = await generateText({ model, messages });
 */
export function reducingMiddleware(reducer: ChatReducer): LanguageModelMiddleware {
  checkValue("reducingMiddleware", "reducer", hasMethods("reduce"), reducer);
  return {
    specificationVersion: "v4",
    async transformParams({ params }) {
      const { prompt, abortSignal } = params;
      const reduced = await reducedHistory<ChatMessage>(prompt, async (messages) => {
        const made = await reducer.reduce(messages, abortSignal && { signal: abortSignal });
        checkMessages("reducingMiddleware: what reducer.reduce returned", made);
        return made;
      });
      const { messages, unpaired } = pairedHistory(reduced);
      reportUnpaired({ scope: reducer, threadId: "" }, unpaired);
      const given = new Set<unknown>(prompt);
      const isGiven = (message: unknown): message is PromptMessage => given.has(message);
      return {
        ...params,
        prompt: messages.map((message) => (isGiven(message) ? message : toPromptMessage(message))),
      };
    },
  };
}

/** Converts a reduced message to a prompt message. Parts other than text are passed on unchanged. */
function toPromptMessage({ role, content, providerOptions }: ChatMessage): PromptMessage {
  const parts: Part[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join("");
  const message = {
    role,
    content: role === "system" ? text : parts,
    ...(providerOptions && { providerOptions }),
  };
  return message as PromptMessage;
}
