import { jsonCodec, StoreError } from "@scrollback/store-core";
import type { Check } from "@scrollback/store-core/driver";
import { guarded, isText, reporter } from "@scrollback/store-core/internal";
import type { Identified } from "./chat.ts";
import { messageProblem } from "./checks.ts";
import type { ChatContext } from "./read/context.ts";
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

const UNCHECKED = "could not be checked, because check failed";

/** The callbacks of a chat store. */
export type ChatCallbacks<M extends Identified> = Pick<
  ChatContext<M>,
  "check" | "preview" | "closeAnswer" | "now" | "onError"
>;

/**
 * The callbacks of the options. If one fails, its error is reported and the default is used; a `check` that fails refuses. Those that are
 * not given have nothing that could fail. `check` is the whole check of a message: of its id and role too.
 */
export function callbacksOf<M extends Identified>({
  check,
  preview,
  closeAnswer,
  now,
  onError: given,
}: Partial<ChatCallbacks<M>>): ChatCallbacks<M> {
  const report = reporter(given);
  const onError = (error: unknown) => report(error, "callback");
  const ownCheck = check && guarded(check, { name: "check", onError, otherwise: () => UNCHECKED });
  const ownNow = now && guarded(now, { name: "now", onError, check: isTime, otherwise: Date.now });
  return {
    onError: report,
    check: (message) => messageProblem(message) ?? ownCheck?.(message),
    preview: preview
      ? guarded(preview, { name: "preview", onError, check: isText, otherwise: textOf })
      : textOf,
    closeAnswer: closeAnswer
      ? guarded(closeAnswer, {
          ...{ name: "closeAnswer", onError },
          check: (result) => messageProblem(result) ?? isStorable(result),
          otherwise: (message) => message,
        })
      : (message) => message,
    // Times are whole milliseconds, so that import takes what export returns.
    now: ownNow ? () => Math.floor(ownNow()) : Date.now,
  };
}
