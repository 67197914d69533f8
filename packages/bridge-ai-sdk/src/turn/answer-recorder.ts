import { StoreError } from "@scrollback/store-core";
import { sleep } from "@scrollback/store-core/internal";
import {
  readUIMessageStream,
  type ToolSet,
  type UIMessage,
  type UIMessageChunk,
  type UIMessageStreamOptions,
} from "ai";
import { UIMessageStreamError } from "../ai.ts";
import { withEndedTexts } from "../convert/close-answer.ts";
import { isClientTool, isToolPart, type UIPart } from "../convert/tool-parts.ts";
import { withoutUnfinishedItems } from "../convert/unfinished-step.ts";
import { isBlankAnswer } from "../parent-id.ts";
import { containedStream, ERROR_TEXT } from "../streams/contained-stream.ts";
import { storableMessage } from "../streams/storable.ts";
import { answerPrefix } from "./answer-prefix.ts";
import type { BegunRun } from "./open-turn.ts";
import { hasCode } from "./run-change.ts";

/** The sizes to which an answer that is too large is cut, largest first. */
const PREFIX_BYTES = [4 * 1_024 * 1_024, 256 * 1_024, 16 * 1_024];
const wholeReasons: ReadonlySet<string> = new Set(["stop", "length", "content-filter", "tool-calls"]);
const TOO_LARGE = "the answer is too large to be stored; this is its beginning";
const REFUSED = "the answer is not valid";
const MODEL_ERROR = "the model ended with an error";
const CUT_OFF = "the model's answer ended without a reason to finish; its connection was probably cut";
const NOT_RUN = "an approved tool call was not run: its tool or its schema has changed";
const REFUSALS = ["TOO_LARGE", "INVALID_ARGUMENT"] as const;

/** The options of `toUIMessageStream` with which an answer is stored. */
export type RecorderOptions<UI extends UIMessage> = Required<
  Pick<UIMessageStreamOptions<UI>, "originalMessages" | "generateMessageId" | "onEnd" | "onStepEnd">
>;

/** Stores an answer while it is streamed. */
export interface AnswerRecorder<UI extends UIMessage> {
  readonly ui: RecorderOptions<UI>;
  /** Reads the stream to its end even without listeners, saves each step, and closes when the answer is stored. Never rejects. */
  pipe<C>(stream: ReadableStream<C> | Promise<ReadableStream<C>>): ReadableStream<C>;
  /** Settles when the run has ended. */
  readonly ended: Promise<void>;
}

/** Stores the answer of a run. */
export function recordAnswer<UI extends UIMessage>(
  { run, stored: messages }: Pick<BegunRun<UI>, "run" | "stored">,
  tools: ToolSet | undefined,
  onError: (error: unknown) => void,
): AnswerRecorder<UI> {
  const { promise: ended, resolve: finish } = Promise.withResolvers<void>();
  const last = messages.at(-1);
  const continued = last?.role === "assistant" ? last : undefined;
  let isPiped = false;
  let isAborted = false;
  let errorText: string | undefined;
  let finishReason: string | undefined;
  /** The answer so far, of chunks that can be stored. */
  let latest: UI | undefined;
  /** Without `pipe`: the SDK's final message. */
  let whole: UI | undefined;

  /** Why an answer without an error is not whole; undefined if it is. */
  const defectOf = (made: UI | undefined, isOpen: boolean) => {
    if (finishReason === "error") return MODEL_ERROR;
    const isEnded = finishReason === undefined ? !isOpen : wholeReasons.has(finishReason);
    if (!isEnded || made?.parts.some(isOpenCall)) return CUT_OFF;
    return made?.parts.some((part) => isDecided(part, tools)) ? NOT_RUN : undefined;
  };

  /** How the answer ended. Reports a defect, which the stream does not tell of. */
  const endingOf = (made: UI | undefined, isOpen: boolean) => {
    if (errorText !== undefined) return { status: "failed", error: errorText } as const;
    if (isAborted || run.signal.aborted) return { status: "stopped" } as const;
    const error = defectOf(made, isOpen);
    if (error === undefined) return { status: "complete" } as const;
    onError(new StoreError("UNAVAILABLE", `chat: ${error}`, { retryable: true }));
    return { status: "failed", error } as const;
  };

  /**
   * Saves the answer; false if that failed, or if the answer has a defect. If the run was taken over or deleted, its signal is
   * aborted: that is not an error. Never rejects.
   */
  const end = async (isOpen: boolean): Promise<boolean> => {
    // The chunks so far have their snapshots, which takes microtasks only.
    if (!whole) await sleep(0);
    const made = whole ?? latest;
    const stored = made && !isBlankAnswer(made) ? withEndedTexts(storableMessage(made, onError)) : undefined;
    const ending = endingOf(made, isOpen);
    // Its provider may not have stored the last items.
    const message =
      stored && ending.status !== "complete"
        ? { ...stored, parts: withoutUnfinishedItems(stored.parts) }
        : stored;
    try {
      await run.end({ ...(message && { message }), ...ending });
      return ending.status !== "failed" || errorText !== undefined;
    } catch (error) {
      if (hasCode(error, "CONFLICT", "NOT_FOUND") && run.signal.aborted) return true;
      onError(error);
      if (hasCode(error, ...REFUSALS)) await endRefused(message, error).catch(onError);
      return false;
    } finally {
      finish();
    }
  };

  /** Ends the run with what the store accepts of the answer, or without it: a run whose end is refused keeps its lease. */
  const endRefused = async (message: UI | undefined, refusal: unknown) => {
    try {
      if (message)
        return await (hasCode(refusal, "TOO_LARGE") ? endWithPrefix(message) : endUnchecked(message));
    } catch (error) {
      if (!hasCode(error, ...REFUSALS)) throw error;
      onError(error);
    }
    run.update({ id: run.messageId, role: "assistant", parts: [] } as UIMessage as UI);
    await run.end({ status: "failed", error: REFUSED });
  };

  /** Ends the run with as much of the answer as the store accepts. */
  const endWithPrefix = async (message: UI) => {
    for (const bytes of PREFIX_BYTES) {
      // Also where nothing of it is left: the run must not fall back to the answer that is too large.
      run.update(answerPrefix(message, bytes));
      try {
        return await run.end({ status: "failed", error: TOO_LARGE });
      } catch (error) {
        if (bytes === PREFIX_BYTES.at(-1) || !hasCode(error, "TOO_LARGE")) throw error;
      }
    }
  };

  /** Ends the run with an answer that the `check` of the store refuses. */
  const endUnchecked = async (message: UI) => {
    run.update(message);
    await run.end({ status: "failed", error: REFUSED });
  };

  const saveStep = async () => {
    await sleep(0);
    await run.save().catch((error) => {
      if (!run.signal.aborted) onError(error);
    });
  };

  /** The chunks for {@link follow}. Clients get those behind an error only when the answer is stored. */
  let recorded: ReadableStreamDefaultController<UIMessageChunk> | undefined;
  const see = async (chunk: UIMessageChunk) => {
    if (chunk.type === "finish-step") await saveStep();
    if (chunk.type === "abort") isAborted = true;
    if (chunk.type === "finish") finishReason = chunk.finishReason;
    if (chunk.type === "error" && !run.signal.aborted) errorText ??= textOfError(chunk);
    recorded?.enqueue(chunk);
  };

  const follow = async (stream: ReadableStream<UIMessageChunk>) => {
    const snapshots = readUIMessageStream<UI>({
      stream,
      ...(continued && { message: structuredClone(continued) }),
      onError(error) {
        if (!UIMessageStreamError.isInstance(error)) return;
        errorText ??= ERROR_TEXT;
        onError(error);
      },
    });
    for await (const message of snapshots) {
      latest = message;
      if (!isBlankAnswer(message)) run.update(withoutUndefined(message));
    }
  };

  return {
    ended,
    ui: {
      originalMessages: [...messages],
      generateMessageId: () => run.messageId,
      async onStepEnd({ responseMessage }) {
        if (isPiped || isBlankAnswer(responseMessage)) return;
        run.update(storableMessage(responseMessage, onError));
        await saveStep();
      },
      async onEnd(event) {
        isAborted ||= event.isAborted;
        finishReason ??= event.finishReason;
        if (isPiped) return;
        whole = event.responseMessage;
        await end(false);
      },
    },
    pipe(stream) {
      isPiped = true;
      const kept = new ReadableStream<UIMessageChunk>({
        start(controller) {
          recorded = controller;
        },
        cancel() {
          recorded = undefined;
        },
      });
      void follow(kept).catch(onError);
      const source = stream as ReadableStream | Promise<ReadableStream>;
      return containedStream(source, { run, see, onError, end }) as ReadableStream;
    },
  };
}

/** The text of an error, which a stream of the application may lack. */
function textOfError({ errorText }: { readonly errorText?: unknown }): string {
  return typeof errorText === "string" ? errorText : ERROR_TEXT;
}

/** A decided call whose tool is the server's: the SDK has neither run nor denied it. */
function isDecided(part: UIPart, tools: ToolSet | undefined): boolean {
  return isToolPart(part) && part.state === "approval-responded" && !isClientTool(part, tools);
}

/** A call whose input has not arrived whole. */
function isOpenCall(part: UIPart): boolean {
  return isToolPart(part) && part.state === "input-streaming";
}

/** A snapshot of chunks as plain JSON: the SDK sets missing fields to undefined. */
function withoutUndefined<UI extends UIMessage>(message: UI): UI {
  const defined = <T extends object>(value: T) =>
    Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as T;
  return { ...defined(message), parts: message.parts.map(defined) };
}
