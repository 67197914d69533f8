import { jsonCodec, StoreError } from "@scrollback/store-core";
import type { Check } from "@scrollback/store-core/driver";
import { callNow, isText, reporter } from "@scrollback/store-core/internal";
import type { Identified } from "./chat.ts";
import { messageProblem } from "./checks.ts";
import type { ChatContext } from "./context.ts";
import { textOf } from "./read/entries.ts";

const isTime: Check = (value) => (Number.isFinite(value) ? undefined : "must be a finite number");
const isStorable: Check = (value) => {
  try {
    jsonCodec.encode(value);
    return undefined;
  } catch (error) {
    return `cannot be stored: ${StoreError.is(error) ? error.message : String(error)}`;
  }
};

/** The callbacks of a chat store. */
export type ChatCallbacks<M extends Identified> = Pick<
  ChatContext<M>,
  "check" | "preview" | "closeAnswer" | "now" | "onError"
>;

/** The callbacks of the options. If one fails, its error is reported and the default is used; a `check` that fails refuses. */
export function callbacksOf<M extends Identified>({
  check = () => undefined,
  preview = textOf,
  closeAnswer = (message) => message,
  now = Date.now,
  onError: given,
}: Partial<ChatCallbacks<M>>): ChatCallbacks<M> {
  const onError = reporter(given);
  const handling = (name: string) => ({ name, onError: (error: unknown) => onError(error, "callback") });
  return {
    onError,
    check: (message) =>
      callNow(() => check(message), {
        ...handling("check"),
        otherwise: () => "could not be checked, because check failed",
      }),
    preview: (message) =>
      callNow(() => preview(message), {
        ...handling("preview"),
        check: isText,
        otherwise: () => textOf(message),
      }),
    closeAnswer: (message) =>
      callNow(() => closeAnswer(message), {
        ...handling("closeAnswer"),
        check: (result) => messageProblem(result) ?? isStorable(result),
        otherwise: () => message,
      }),
    // Times are whole milliseconds, so that import takes what export returns.
    now: () => Math.floor(callNow(now, { ...handling("now"), check: isTime, otherwise: Date.now })),
  };
}
