import { type ChatMessage, untilAborted } from "@scrollback/store-core";
import { generateText, isStepCount, streamText } from "ai";
import { isWhole } from "./exchange.ts";
import { type ResponseMessage, withoutUndefined } from "./model-messages.ts";
import { abortedError, type ModelCall, type ModelOutcome, type Run } from "./run.ts";
import { stoppable } from "./stoppable.ts";

/** What an agent says, while it says it: a piece of text, then the message that it is of. */
export type SpokenPart =
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "message"; readonly message: ChatMessage };

/** How a run is to speak. */
export interface Speech {
  readonly run: Run;
  readonly maxSteps: number;
  readonly streams: boolean;
  readonly stop: AbortController;
  readonly signal: AbortSignal;
}

/**
 * One run, step by step: each step's messages are given before the next step begins, so that whoever keeps them has
 * them when the process ends in between. A reader that stops early has cancelled the run.
 */
export async function* speak(speech: Speech): AsyncGenerator<SpokenPart, void, void> {
  const { run, maxSteps, streams, stop } = speech;
  let isOver = false;
  try {
    const call = await run.prepare();
    const said: ResponseMessage[] = [];
    for (let step = 1; !isOver; step++) {
      const asked = { ...call, messages: [...call.messages, ...said], stopWhen: isStepCount(1) };
      const outcome = streams ? yield* streamStep(asked, speech) : await generateStep(asked, speech);
      const { messages } = outcome;
      said.push(...messages);
      if (step >= maxSteps || messages.at(-1)?.role !== "tool" || !isWhole(messages)) {
        await run.complete({ ...outcome, messages: said });
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

async function generateStep(call: ModelCall, { signal }: Speech): Promise<ModelOutcome> {
  const result = await untilAborted(() => generateText(call), signal);
  return { messages: result.responseMessages, lastStep: result.finalStep, usage: result.usage };
}

async function* streamStep(
  call: ModelCall,
  { stop, signal }: Speech,
): AsyncGenerator<SpokenPart, ModelOutcome, void> {
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
