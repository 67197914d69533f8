import type { OwnedChats } from "@scrollback/chats";
import { type Check, checkOptions, hasMethods } from "@scrollback/store-core/driver";
import { isFunction, reporter } from "@scrollback/store-core/internal";
import type { UIMessage } from "ai";
import type { UIOptions } from "../convert/ui-messages.ts";
import type { BeginTurnOptions, Turn } from "../options.ts";
import { type RecorderOptions, recordAnswer } from "./answer-recorder.ts";
import { beginChecks } from "./handler-checks.ts";
import { beginRun, turnOf, withTurnFiles } from "./open-turn.ts";
import { parsePostBody } from "./post-body.ts";

/** The options of {@link beginTurn}. */
export interface BeginTurn<UI extends UIMessage> extends UIOptions, BeginTurnOptions {
  /** The chats of the user: `chats.of(userId)`. */
  readonly chats: OwnedChats<UI>;
  /** The JSON that the client posted. */
  readonly body: unknown;
  /** Called with errors that occur while the answer is streamed and stored, and of callbacks. It is not awaited. Default: a warning of the process. */
  onError?(error: unknown): void;
}

/** A turn that is stored while it is streamed. */
export interface OpenTurn<UI extends UIMessage> extends Turn<UI> {
  /** For `toUIMessageStream`. */
  readonly ui: RecorderOptions<UI>;
  /** Reads the stream to its end even without listeners, stores the answer, and then closes. */
  pipe<C>(stream: ReadableStream<C>): ReadableStream<C>;
}

const isOwnedChats: Check = (value) => hasMethods("begin")(value) && "must be the chats of an owner";

/**
 * Stores the message that a client posted and begins a run, for your own route handlers. Pipe the answer. If no answer can be
 * made, end the run: `turn.run.end({ status: "failed" })`.
 *
 * @throws StoreError `INVALID_ARGUMENT`, `NOT_FOUND`, `CONFLICT`, in the same cases as the chat handler.
 * @example
 * const turn = await beginTurn({ chats: chats.of(userId), body: await request.json(), tools });
 * const result = streamText({ model, tools, messages: turn.modelMessages, abortSignal: turn.signal });
 * const stream = turn.pipe(toUIMessageStream({ stream: result.stream, ...turn.ui }));
 * return createUIMessageStreamResponse({ stream });
 */
export async function beginTurn<UI extends UIMessage>(options: BeginTurn<UI>): Promise<OpenTurn<UI>> {
  const checks = { ...beginChecks, chats: isOwnedChats, body: () => undefined, onError: isFunction };
  checkOptions("beginTurn", options, checks, ["chats"]);
  const { chats, body, onError: given, ...begin } = options;
  const onError = reporter(given);
  const post = parsePostBody(body);
  const begun = await beginRun(post, { ...begin, chats, onError });
  // The chats of an owner are made for each request, so they cannot remember what was reported.
  const target = { scope: beginTurn, threadId: `${chats.ownerId}/${begun.run.chat.id}`, onError };
  const open = async () => {
    const turn = await turnOf(begun, chats.ownerId, post, { ...begin, target });
    return await withTurnFiles(chats, turn, begun.run.entries, { ...begin, target });
  };
  const turn = await open().catch(async (error) => {
    await begun.run.end({ status: "failed" });
    throw error;
  });
  const { ui, pipe } = recordAnswer(begun, begin.tools, onError);
  return { ...turn, ui, pipe };
}
