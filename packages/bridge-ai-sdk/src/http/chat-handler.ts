import type { OwnedChats } from "@scrollback/chats";
import { StoreError } from "@scrollback/store-core";
import { reporter } from "@scrollback/store-core/internal";
import type { UIMessage, UIMessageChunk } from "ai";
import { JsonToSseTransformStream } from "ai";
import { closeUiAnswer } from "../convert/close-answer.ts";
import { withFileUrls } from "../convert/file-references.ts";
import type { ReportTarget } from "../convert/old-files.ts";
import type { ChatHandlerOptions, Turn } from "../options.ts";
import { withPrelude } from "../streams/replay.ts";
import { StoreStreams } from "../streams/store-streams.ts";
import { guardedStreams } from "../streams/streams.ts";
import { recordAnswer } from "../turn/answer-recorder.ts";
import { answerOf } from "../turn/answer-source.ts";
import { CALLBACK_MS } from "../turn/call-within.ts";
import { checkContext, checkHandlerOptions } from "../turn/handler-checks.ts";
import {
  asStored,
  type BegunRun,
  beginRun,
  inputOf,
  readRequest,
  turnOf,
  withTurnFiles,
} from "../turn/open-turn.ts";
import { type PostBody, parsePostBody } from "../turn/post-body.ts";
import { hasCode, isAsked } from "../turn/run-change.ts";
import { retitleChat, titleChat, titleOf } from "../turn/titles.ts";
import { checkedMetadata } from "../turn/user-message.ts";
import type { ChatHandler, RequestContext } from "./handler.ts";
import { readJson } from "./read-json.ts";
import { answerResponse, errorResponse, isServerError } from "./responses.ts";
import { type ChatActions, type OwnerCall, routedResponse } from "./routes.ts";
import { resumedAnswer, stopAnswer } from "./running-answers.ts";

/** A photo of a phone as base64. */
const DEFAULT_MAX_BYTES = 16 * 1_024 * 1_024;

/**
 * Serves chats to `useChat`. Stores the user's messages and the model's answers, and survives closed tabs, reloads and crashes.
 *
 * @throws StoreError `INVALID_ARGUMENT` for wrong options. Does no I/O.
 * @example
 * const chats = new ChatStore<UIMessage>({ stores: await openStores("sqlite:chats.db"), ...uiMessages({ tools }) });
 * const chat = createChatHandler({ chats, model: "openai/gpt-5-mini", tools });
 * createServer(nodeListener((request) => chat.fetch(request, { owner: userOf(request) }))).listen(3000);
 */
export function createChatHandler<UI extends UIMessage>(options: ChatHandlerOptions<UI>): ChatHandler {
  checkHandlerOptions(options);
  const { chats, maxMessageBytes = DEFAULT_MAX_BYTES, title, callbackMs = CALLBACK_MS } = options;
  const { allowImport: isImportAllowed = false } = options;
  const { metadataSchema, dataSchemas, fileTypes, whileRunning, keepSiblings, onStale, generateMessageId } =
    options;
  const tools = options.tools ?? options.agent?.tools;
  const ui = {
    ...(tools && { tools }),
    ...(metadataSchema && { metadataSchema }),
    ...(dataSchemas && { dataSchemas }),
    ...(fileTypes && { fileTypes }),
  };
  const begin = {
    ...ui,
    ...(whileRunning && { whileRunning }),
    ...(keepSiblings !== undefined && { keepSiblings }),
    ...(onStale && { onStale }),
    ...(generateMessageId && { generateMessageId }),
    callbackMs,
    create: (message: UI) => {
      const text = title === false ? undefined : titleOf(message);
      return text === undefined ? {} : { title: text, titleBy: "text" as const, titleOf: message };
    },
  };
  /** The answers of this handler: `stop` stops one, `ended` settles when it is saved. */
  const running = new Map<string, { stop(): Promise<unknown>; ended: Promise<unknown> }>();
  /** The requests whose answers are not in `running` yet. */
  const starting = new Set<Promise<Response>>();
  let isClosed = false;
  const assertOpen = () => {
    if (isClosed) throw new StoreError("CLOSED", "chat: the server is being stopped; try again");
  };
  const closeAnswer = (message: UI) => closeUiAnswer(message, tools);

  const onError = reporter(options.onError);
  const report = (error: unknown, chatId: string, runId?: string) =>
    onError(error, { chatId, ...(runId !== undefined && { runId }) });
  const own = new StoreStreams();
  const streamsOf = (mine: OwnedChats<UI>, chatId: string) =>
    guardedStreams(options.streams ?? own.of(mine, chatId), callbackMs, (error) => report(error, chatId));

  const respond = async (
    method: string,
    context: RequestContext,
    answer: (call: OwnerCall<UI>) => Promise<Response>,
    chatId = "",
  ): Promise<Response> => {
    checkContext(method, context);
    let call: OwnerCall<UI> | undefined;
    try {
      call = { mine: chats.of(context.owner), chatId };
      return await answer(call);
    } catch (error) {
      const isRefusal = isClosed && hasCode(error, "CLOSED");
      if (isServerError(error) && !isRefusal) report(error, call?.chatId ?? chatId);
      return errorResponse(error);
    } finally {
      const id = call?.chatId ?? chatId;
      const onError = (error: unknown) => report(error, id);
      // It may be an asynchronous function.
      const hand = async () => await context.waitUntil?.(finish(call?.ended, onError));
      void hand().catch(onError);
    }
  };

  /** Returns when nothing goes on of a request. */
  const finish = async (
    ended: Promise<unknown> | undefined,
    onError: (error: unknown) => void,
  ): Promise<void> => {
    await ended?.catch(onError);
    await chats.flush({ runs: false }).catch(onError);
  };

  const giveTitle = async (mine: OwnedChats<UI>, turn: Turn<UI>, target: ReportTarget) => {
    try {
      if (title === false) return;
      const options = { ...ui, callbackMs, target };
      const isOwn = typeof title === "function";
      const full = isOwn ? await withTurnFiles(mine, turn, turn.run.entries, options) : turn;
      await titleChat(mine, full, title, callbackMs);
    } catch (error) {
      // A deleted chat, a message that was changed or dropped, and a stopped answer need no title.
      if (!hasCode(error, "NOT_FOUND") && !turn.signal.aborted) report(error, turn.chat.id, turn.run.id);
    }
  };

  /** Generates the answer of a run, for this request and for late listeners. */
  const start = (call: OwnerCall<UI>, body: PostBody, begun: BegunRun<UI>): Response => {
    const { mine } = call;
    const { run, stored, isContinuation } = begun;
    const chatId = run.chat.id;
    const onError = (error: unknown) => report(error, chatId, run.id);
    const recorder = recordAnswer(begun, tools, onError);
    let titled: Promise<void> | undefined;
    const answer = async () => {
      const target = { scope: chats, threadId: `${mine.ownerId}/${chatId}`, onError };
      const turn = await turnOf(begun, mine.ownerId, body, { ...ui, callbackMs, target });
      titled = giveTitle(mine, turn, target);
      // Steps are saved from the stream: for its callback the SDK clones the message, which fails for some tool outputs.
      const { onStepEnd, ...recorded } = recorder.ui;
      return await answerOf(turn, { ...options, ...ui }, recorded, target);
    };
    const [live, kept] = recorder.pipe(answer()).tee();
    const last = run.entries.find(({ message }) => message === stored.at(-1));
    const prelude = isContinuation && last ? withFileUrls(mine, chatId, [last]) : undefined;
    const whole = prelude ? kept.pipeThrough(withPrelude(prelude.then(([shown]) => shown?.message))) : kept;
    const streams = streamsOf(mine, chatId);
    streams.publish(run.id, whole.pipeThrough(new JsonToSseTransformStream()));
    const stop = () => mine.stop(chatId, run.id);
    const forget = streams.onStop(run.id, () => void stop().catch(onError));
    const ended = recorder.ended.then(async () => {
      forget();
      await titled;
      running.delete(run.id);
    });
    running.set(run.id, { stop, ended });
    call.ended = ended.then(() => own.removed(run.id));
    const isBranch = chatId !== body.chatId;
    return answerResponse(isBranch ? live.pipeThrough(withChatId(chatId)) : live, {
      "x-scrollback-run": run.id,
      ...(isBranch && { "x-scrollback-chat": chatId }),
    });
  };

  const post = async (call: OwnerCall<UI>, body: PostBody): Promise<Response> => {
    assertOpen();
    const { mine } = call;
    const onError = (error: unknown) => report(error, body.chatId);
    const started = beginRun(body, { ...begin, chats: mine, onError }).then((begun) =>
      start(call, body, begun),
    );
    starting.add(started);
    try {
      return await started;
    } catch (error) {
      const same = hasCode(error, "CONFLICT") ? await sameAnswer(mine, body) : undefined;
      if (!same) throw error;
      return same;
    } finally {
      starting.delete(started);
    }
  };

  /** The running answer to the same message, for a request that was sent twice. */
  const sameAnswer = async (mine: OwnedChats<UI>, body: PostBody): Promise<Response | undefined> => {
    if (body.isBranch) return undefined;
    const request = asStored(mine, await readRequest<UI>(body, ui, callbackMs));
    const page = await mine.read(body.chatId, { files: "references" });
    if (page?.chat.run?.state !== "running" || !isAsked(request, page.entries)) return undefined;
    const response = await resumedAnswer(mine, body.chatId, streamsOf(mine, body.chatId));
    return response.status === 200 ? response : undefined;
  };

  const actions: ChatActions<UI> = {
    async post(call, request) {
      assertOpen();
      const body = parsePostBody(await readJson(request, maxMessageBytes));
      call.chatId = body.chatId;
      return await post(call, body);
    },
    resume: ({ mine, chatId }) => resumedAnswer(mine, chatId, streamsOf(mine, chatId)),
    async stop({ mine, chatId }, runId) {
      const chat = await mine.get(chatId);
      if (!chat) throw new StoreError("NOT_FOUND", "stop: the chat does not exist");
      const { run } = chat;
      const isMeant = run !== undefined && (runId === undefined || runId === run.id);
      const stopped = isMeant && (await stopAnswer(mine, chatId, run.id, streamsOf(mine, chatId)));
      return Response.json({ stopped });
    },
    async title({ mine, chatId }, replacesUser) {
      if (title === false) throw new StoreError("NOT_FOUND", "title: this server gives chats no titles");
      const page = await mine.read(chatId, { files: "references" });
      if (!page) throw new StoreError("NOT_FOUND", "title: the chat does not exist");
      const { chat, entries } = page;
      const stored = entries.map(({ message }) => message);
      const onError = (error: unknown) => report(error, chatId);
      const target = { scope: chats, threadId: `${mine.ownerId}/${chatId}`, onError };
      const how = { continuedId: undefined, isLastNew: false };
      const input = await inputOf(stored, how, { ...ui, callbackMs, target });
      const { signal } = new AbortController();
      const references = { owner: mine.ownerId, chat, ...input, signal, body: {} };
      const turn = await withTurnFiles(mine, references, entries, { ...ui, callbackMs, target });
      return Response.json(await retitleChat(mine, turn, stored, title, { ms: callbackMs, replacesUser }));
    },
  };
  const checkMetadata = (metadata: unknown) => checkedMetadata(metadata, ui, callbackMs);
  const routing = { actions, maxMessageBytes, isImportAllowed, closeAnswer, checkMetadata };

  return {
    handle: (request, context) => respond("handle", context, (call) => actions.post(call, request)),
    resume: (chatId, context) => respond("resume", context, actions.resume, chatId),
    stop: (chatId, context) => respond("stop", context, (call) => actions.stop(call, context.runId), chatId),
    fetch: (request, context) => respond("fetch", context, (call) => routedResponse(request, call, routing)),
    async close({ wait = false } = {}) {
      isClosed = true;
      await Promise.allSettled(starting);
      const all = [...running.values()];
      if (!wait) await Promise.allSettled(all.map(({ stop }) => stop()));
      await Promise.allSettled(all.map(({ ended }) => ended));
      await own.close();
    },
  };
}

/** Sends the client the id of the answer's chat. */
function withChatId(id: string): TransformStream<UIMessageChunk, UIMessageChunk> {
  return new TransformStream({
    transform(chunk, controller) {
      controller.enqueue(chunk);
      if (chunk.type === "start") controller.enqueue({ type: "data-chat", data: { id }, transient: true });
    },
  });
}
