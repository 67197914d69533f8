import { type ChatEntry, type ChatPatch, type ChatRun, filesIn, type OwnedChats } from "@scrollback/chats";
import { isString } from "@scrollback/store-core/driver";
import { guarded } from "@scrollback/store-core/internal";
import type { UIMessage } from "ai";
import { type ReportTarget, withoutUnsendableFiles, withoutUntakenFiles } from "../convert/old-files.ts";
import type { UIOptions } from "../convert/ui-messages.ts";
import type { BeginTurnOptions, MessageOptions, TitleTurn, Turn } from "../options.ts";
import { forkFor } from "./branch.ts";
import { CALLBACK_MS, callWithin } from "./call-within.ts";
import { type HistoryOptions, historyOf, modelMessagesOf } from "./history.ts";
import type { PostBody } from "./post-body.ts";
import { decide, readTurnRequest, type TurnRequest } from "./run-change.ts";

/** A model may load a file at each step of a long answer. */
const FILE_URLS_MS = 3_600_000;

/** A run that a request has begun. */
export interface BegunRun<UI extends UIMessage> {
  readonly run: ChatRun<UI>;
  /** The stored messages before the answer. If the run continues an answer, they end with that answer. */
  readonly stored: readonly UI[];
  readonly isContinuation: boolean;
  /** Whether the request has added the last stored message. */
  readonly isNew: boolean;
}

/** The options of a new run. */
export interface BeginRun<UI extends UIMessage> extends UIOptions, BeginTurnOptions {
  readonly chats: OwnedChats<UI>;
  onError(error: unknown): void;
  /** The fields of a chat that the request creates. */
  create?(message: UI): ChatPatch;
}

/** Stores the change of a request and takes the lease of the chat, in one commit. */
export async function beginRun<UI extends UIMessage>(
  body: PostBody,
  { chats, keepSiblings = true, ...given }: BeginRun<UI>,
): Promise<BegunRun<UI>> {
  const { whileRunning, onStale, generateMessageId, callbackMs, onError, create, ...options } = given;
  const placed = onStale === "append" ? { ...body, parentId: undefined } : body;
  const request = asStored(chats, await readRequest<UI>(placed, options, callbackMs));
  const isContinuation = request.kind === "continue";
  const branch = body.isBranch ? await forkFor(chats, placed, request) : undefined;
  let isNew = false;
  const change = (entries: readonly ChatEntry<UI>[], stopped?: string) => {
    const made = branch ? branch.change(entries) : decide(request, entries, stopped);
    isNew = !isContinuation && made.append !== undefined;
    return { ...made, keepSibling: keepSiblings && made.keepSibling === true };
  };
  const first = request.kind === "submit" ? create?.(request.message) : undefined;
  const messageId = isContinuation || !generateMessageId ? undefined : idOf(generateMessageId, onError);
  const begin = chats.begin(branch?.chatId ?? body.chatId, change, {
    ...(messageId !== undefined && { messageId }),
    ...(whileRunning && { whileRunning }),
    ...(first && !branch && { create: first }),
  });
  const run = await begin.catch(async (error) => {
    if (branch) await chats.delete(branch.chatId);
    throw error;
  });
  const messages = run.entries.map(({ message }) => message);
  const index = messages.findLastIndex(({ id }) => id === run.messageId);
  return {
    run,
    stored: index < 0 ? messages : messages.slice(0, index + 1),
    isContinuation,
    isNew,
  };
}

/** A request with its message as a chat has it: with references in the place of large files. */
export function asStored<UI extends UIMessage>(
  chats: OwnedChats<UI>,
  request: TurnRequest<UI>,
): TurnRequest<UI> {
  return request.kind === "submit" ? { ...request, message: chats.withoutFiles(request.message) } : request;
}

/** The validated request of a body. @throws StoreError `UNAVAILABLE` if the schemas do not finish in time. */
export async function readRequest<UI extends UIMessage>(
  body: PostBody,
  options: MessageOptions,
  callbackMs = CALLBACK_MS,
): Promise<TurnRequest<UI>> {
  return await callWithin(callbackMs, "the validation of the message", () =>
    readTurnRequest<UI>(body, options),
  );
}

/** The id of an answer; undefined if the application's function fails. */
function idOf(generateMessageId: () => string, onError: (error: unknown) => void): string | undefined {
  const generate = guarded<[], string | undefined>(generateMessageId, {
    ...{ name: "generateMessageId", check: isString, onError },
    otherwise: () => undefined,
  });
  return generate();
}

/** The options of {@link turnOf}. */
export interface TurnOptions extends MessageOptions, Pick<BeginTurnOptions, "callbackMs"> {
  readonly target: ReportTarget;
}

/** The input of a model call. */
export async function turnOf<UI extends UIMessage>(
  { run, stored, isContinuation, isNew }: BegunRun<UI>,
  owner: string,
  { rest }: PostBody,
  options: TurnOptions,
): Promise<Turn<UI>> {
  const how = { continuedId: isContinuation ? run.messageId : undefined, isLastNew: isNew };
  const { chat, signal } = run;
  return { owner, chat, run, ...(await inputOf(stored, how, options)), signal, body: rest };
}

/**
 * A turn with the contents of the files that its model messages refer to: those that a reducer has dropped are not loaded. Others, and
 * those whose type the model does not take, become notes.
 *
 * @param options `takesUrls`: whether the model gets signed URLs in the place of contents, where the storage of files has them.
 */
export async function withTurnFiles<UI extends UIMessage, T extends TitleTurn<UI>>(
  chats: OwnedChats<UI>,
  turn: T,
  stored: readonly ChatEntry<UI>[],
  { fileTypes, target, takesUrls = false }: TurnOptions & { readonly takesUrls?: boolean },
): Promise<T> {
  const needed = filesIn(turn.modelMessages);
  if (needed.size === 0) return turn;
  const fileIds = stored.flatMap(({ files = [] }) => files);
  const { signal } = turn;
  const { messages, modelMessages } = await chats.withFiles(
    { messages: turn.messages, modelMessages: turn.modelMessages },
    fileIds.filter((fileId) => needed.has(fileId)),
    { signal, ...(takesUrls && { urlsForMs: FILE_URLS_MS }) },
  );
  return {
    ...turn,
    messages: withoutUnsendableFiles(messages, fileTypes, target) as UI[],
    modelMessages: withoutUntakenFiles(modelMessages, fileTypes, target),
  };
}

/** The stored history as the SDK and as a model take it. */
export async function inputOf<UI extends UIMessage>(
  stored: readonly UI[],
  how: Pick<HistoryOptions, "continuedId" | "isLastNew">,
  { callbackMs = CALLBACK_MS, target, ...options }: TurnOptions,
): Promise<Pick<Turn<UI>, "messages" | "modelMessages">> {
  return await callWithin(callbackMs, "the validation of the history", async () => {
    const messages = await historyOf(stored, options);
    const history = { ...options, ...how, target, fileMs: callbackMs / 2 };
    return { messages, modelMessages: await modelMessagesOf(messages, history) };
  });
}
