import type { ChatMessage } from "@scrollback/store-core";
import { untilAborted } from "@scrollback/store-core/internal";
import { generateText, isStepCount, streamText } from "../ai.ts";
import { isWhole } from "./exchange.ts";
import { type ResponseMessage, withoutUndefined } from "./model-messages.ts";
import { abortedError, type ModelCall, type ModelOutcome, type Run } from "./run.ts";
import { stoppable } from "./stream-progress.ts";

/** A piece of a streamed text, or the complete message that the pieces belong to. */
export type StreamedPart =
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "message"; readonly message: ChatMessage };

/** Options of {@link runSteps}. */
export interface StepOptions {
  readonly run: Run;
  readonly maxSteps: number;
  readonly streams: boolean;
  readonly stop: AbortController;
  readonly signal: AbortSignal;
}

/**
 * Runs step by step and yields each step's messages before the next step starts, so the caller can store them before a
 * crash. A reader that stops early cancels the run.
 */
export async function* runSteps(options: StepOptions): AsyncGenerator<StreamedPart, void, void> {
  const { run, maxSteps, streams, stop } = options;
  let isOver = false;
  try {
    const call = await run.prepare();
    const responses: ResponseMessage[] = [];
    for (let step = 1; !isOver; step++) {
      const asked = { ...call, messages: [...call.messages, ...responses], stopWhen: isStepCount(1) };
      const outcome = streams ? yield* streamStep(asked, options) : await generateStep(asked, options);
      const { messages } = outcome;
      responses.push(...messages);
      if (step >= maxSteps || messages.at(-1)?.role !== "tool" || !isWhole(messages)) {
        await run.complete({ ...outcome, messages: responses });
        isOver = true;
      }
      for (const message of withoutUndefined(messages)) yield { type: "message", message };
    }
  } catch (error) {
    isOver = true;
    throw await run.fail(error);
  } finally {
    if (!isOver) {
      stop.abort(new Error("the reader of the messages stopped"));
      await run.fail(abortedError(stop.signal));
    }
  }
}

async function generateStep(call: ModelCall, { signal }: StepOptions): Promise<ModelOutcome> {
  const result = await untilAborted(() => generateText(call), signal);
  return { messages: result.responseMessages, lastStep: result.finalStep, usage: result.usage };
}

async function* streamStep(
  call: ModelCall,
  { stop, signal }: StepOptions,
): AsyncGenerator<StreamedPart, ModelOutcome, void> {
  const result = streamText({ ...call, onError: () => {} });
  for await (const part of result.stream) {
    if (part.type === "error") throw part.error;
    if (part.type === "abort") throw abortedError(signal);
    if (part.type === "text-delta") yield* stoppable({ type: "text-delta", text: part.text } as const, stop);
  }
  const [messages, lastStep, usage] = await Promise.all([
    result.responseMessages,
    result.finalStep,
    result.usage,
  ]);
  return { messages, lastStep, usage };
}
