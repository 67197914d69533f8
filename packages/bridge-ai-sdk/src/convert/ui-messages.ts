import type { ChatStoreOptions } from "@scrollback/chats";
import { checkOptions, isObject } from "@scrollback/store-core/driver";
import type { FlexibleSchema, ToolSet, UIMessage } from "ai";
import { closeUiAnswer } from "./close-answer.ts";
import { uiMessageProblem } from "./message-traits.ts";

/** The schemas and tools that the messages of a chat are checked with. */
export interface UIOptions {
  /** The tools of the model. A tool without `execute` runs on the client, which sends its output with a request. */
  readonly tools?: ToolSet;
  readonly metadataSchema?: FlexibleSchema;
  /** By the name of the data part, without `data-`. */
  readonly dataSchemas?: Readonly<Record<string, FlexibleSchema>>;
}

/** The checks of {@link UIOptions}. */
export const uiOptionChecks = { tools: isObject, metadataSchema: () => undefined, dataSchemas: isObject };

/**
 * The options with which a `ChatStore` stores UI messages of the AI SDK. Pass the same tools as to the handler.
 *
 * @example
 * const chats = new ChatStore<UIMessage>({ stores, ...uiMessages({ tools }) });
 */
export function uiMessages<UI extends UIMessage>(
  options: UIOptions = {},
): Required<Pick<ChatStoreOptions<UI>, "check" | "preview" | "closeAnswer">> {
  checkOptions("uiMessages", options, uiOptionChecks);
  return {
    check: chatMessageProblem,
    preview: textOf,
    closeAnswer: (message) => closeUiAnswer(message, options.tools),
  };
}

/** The instructions of a chat are the server's: the SDK refuses them in its history. */
function chatMessageProblem(message: unknown): string | undefined {
  const problem = uiMessageProblem(message);
  return (
    problem ?? ((message as UIMessage).role === "system" ? `role must be "user" or "assistant"` : undefined)
  );
}

/** The text of a message; if it has none, the names of its files. */
export function textOf({ parts }: UIMessage): string {
  const texts = parts.flatMap((part) => (part.type === "text" ? part.text : []));
  const names = parts.flatMap((part) => (part.type === "file" ? (part.filename ?? part.mediaType) : []));
  return (texts.length > 0 ? texts : names).join("\n");
}
