import type { ChatMessage } from "@scrollback/store-core";
import { guarded, isText, reducedHistory } from "@scrollback/store-core/internal";
import {
  type InferUIMessageChunk,
  type LanguageModel,
  type ModelMessage,
  stepCountIs,
  streamText,
  type ToolSet,
  type UIMessage,
} from "ai";
import { toUIMessageStream } from "../ai.ts";
import type { ReportTarget } from "../convert/old-files.ts";
import type { ChatHandlerOptions, ModelAnswer, Turn } from "../options.ts";
import { ERROR_TEXT } from "../streams/contained-stream.ts";
import type { RecorderOptions } from "./answer-recorder.ts";
import { sendableMessages } from "./history.ts";
import { withTurnFiles } from "./open-turn.ts";

/** The default of `ToolLoopAgent`. */
const MAX_STEPS = 20;

interface AnswerTarget extends ReportTarget {
  onError(error: unknown): void;
}

/** Calls the model, the agent or the function of a handler. The tools of the options are an agent's own, if it has some. */
export async function answerOf<UI extends UIMessage>(
  turn: Turn<UI>,
  options: ChatHandlerOptions<UI>,
  ui: Omit<RecorderOptions<UI>, "onStepEnd">,
  target: AnswerTarget,
): Promise<ReadableStream<InferUIMessageChunk<UI>>> {
  const { onError } = target;
  const reduced = options.reducer ? await reducedTurn(turn, options.reducer, options, target) : turn;
  const mine = options.chats.of(turn.owner);
  const takesUrls = await takesFileUrls(options.model);
  const made = await modelAnswer(
    await withTurnFiles(mine, reduced, turn.run.entries, { ...options, target, takesUrls }),
    options,
  );
  if (made instanceof ReadableStream) return made;
  const { onError: textOf, messageMetadata, ...stream } = options.stream ?? {};
  const { redactToolErrors = textOf !== undefined } = stream;
  const errorText = guarded((error: unknown) => textOf?.(error) ?? ERROR_TEXT, {
    ...{ name: "stream.onError", check: isText, onError },
    otherwise: () => ERROR_TEXT,
  });
  const { tools } = options;
  /** The SDK calls `onError` again for the error chunk that it creates. */
  let echo: string | undefined;
  return toUIMessageStream<ToolSet, UI>({
    ...stream,
    ...ui,
    ...(tools && { tools }),
    stream: made.stream,
    redactToolErrors,
    ...(messageMetadata && {
      messageMetadata: guarded(messageMetadata, {
        ...{ name: "stream.messageMetadata", onError },
        otherwise: () => undefined,
      }),
    }),
    onError(error) {
      if (error instanceof Error && error.message === echo) return echo;
      if (!turn.signal.aborted) onError(error);
      echo = errorText(error);
      return echo;
    },
  });
}

async function reducedTurn<UI extends UIMessage>(
  turn: Turn<UI>,
  reducer: NonNullable<ChatHandlerOptions<UI>["reducer"]>,
  options: ChatHandlerOptions<UI>,
  target: ReportTarget,
): Promise<Turn<UI>> {
  const { signal } = turn;
  const reduced = await reducedHistory(turn.modelMessages as ChatMessage[], async (messages) => {
    return (await reducer.reduce(messages as ModelMessage[], { signal })) as ChatMessage[];
  });
  return { ...turn, modelMessages: sendableMessages(reduced as ModelMessage[], target, options.tools) };
}

/** Whether a model says that it loads files from URLs. Others would have the SDK load them here. */
async function takesFileUrls(model: LanguageModel | undefined): Promise<boolean> {
  return typeof model === "object" && Object.keys((await model.supportedUrls) ?? {}).length > 0;
}

async function modelAnswer<UI extends UIMessage>(
  turn: Turn<UI>,
  { model, agent, generate, instructions, tools }: ChatHandlerOptions<UI>,
): Promise<ModelAnswer | ReadableStream<InferUIMessageChunk<UI>>> {
  const { modelMessages, signal } = turn;
  if (generate) return await generate(turn);
  if (agent) return await agent.stream({ prompt: modelMessages, abortSignal: signal });
  return streamText({
    model: model ?? "",
    messages: modelMessages,
    abortSignal: signal,
    stopWhen: stepCountIs(MAX_STEPS),
    // The stream reports errors, once.
    onError: () => undefined,
    ...(instructions !== undefined && { instructions }),
    ...(tools && { tools }),
  });
}
