// Exceeds 300 lines because every call on chats is declared here once, with its contract.
import { isFunction } from "@scrollback/store-core";
import { type BeginOptions, beginRun, type DecideRunChange, type RunChange, stopRun } from "./begin-run.ts";
import {
  appended,
  type Cut,
  patched,
  planAppend,
  planDropAnswer,
  planEdit,
  planTruncate,
  planUpsert,
} from "./changes.ts";
import type {
  Chat,
  ChatList,
  ChatPage,
  ChatPatch,
  ChatWrite,
  Identified,
  ListChats,
  MessageStatus,
  NewChat,
  Placed,
} from "./chat.ts";
import type { ChatRun } from "./chat-run.ts";
import { ChatView, FIRST_LOOK } from "./chat-view.ts";
import { checkChat, checkCut, checkMessages, checkPatch, checkValue, isMessageId } from "./checks.ts";
import type { Plan, Written } from "./commit-plan.ts";
import { deleteAllChats, deleteChat, finishDeletions } from "./delete-chats.ts";
import { publicEntry } from "./entries.ts";
import { type ChatExport, exportOf } from "./export-chat.ts";
import { type ChatChange, type FollowOptions, followChat } from "./follow-chat.ts";
import { type ForkOptions, forkChat } from "./fork-chat.ts";
import { chatOf, type Head, newHead } from "./head.ts";
import { type ImportOptions, importChat } from "./import-chat.ts";
import { listChats } from "./list-chats.ts";
import { idOfOperation } from "./operation-ids.ts";
import { checkRunChange } from "./run-checks.ts";
import type { RunContext } from "./run-context.ts";
import { locationOf } from "./threads.ts";
import { checkAfter, takenId, type WriteRequest, writeChat } from "./write-chat.ts";

/** The chats of one owner. Another owner's chat is `NOT_FOUND`: the owner is part of where a chat is stored. */
export class OwnedChats<M extends Identified = Identified> {
  /** The owner that these are the chats of. */
  readonly ownerId: string;
  readonly #context: RunContext<M>;

  /** Made by {@link ChatStore.of}. */
  constructor(context: RunContext<M>, ownerId: string) {
    this.#context = context;
    this.ownerId = ownerId;
  }

  /**
   * Makes a chat.
   *
   * @throws StoreError `CONFLICT` where the id is taken, unless by the same call under the same operation id.
   */
  async create(chat: NewChat<M> = {}, options: Omit<ChatWrite, "expectedRevision"> = {}): Promise<Chat> {
    checkPatch("create", chat, "create");
    const { messages = [], forkedFrom, id: given, ...patch } = chat;
    checkMessages("create", messages, this.#context.check);
    const { operationId } = options;
    const chatId = given ?? idOfOperation(this.#context.stores, this.ownerId, operationId);
    checkChat("create", chatId, options, "create-options");
    const { chat: made } = await this.#write(chatId, {
      method: "create",
      limit: 0,
      options,
      intent: chat,
      create: (now) => newHead(chatId, now),
      plan: (view, head, now) => {
        if (view.head) throw takenId("create");
        return {
          entries: appended(view, messages, now),
          head: { ...patched("create", head, patch), forkedFrom },
        };
      },
    });
    return made;
  }

  /** Returns a chat without its messages; undefined if it does not exist. */
  async get(chatId: string, options: { signal?: AbortSignal } = {}): Promise<Chat | undefined> {
    checkChat("get", chatId, options, "signal");
    return (await this.#read(chatId, { ...options, limit: 0 }))?.chat;
  }

  /**
   * The newest `limit` messages of a chat, oldest first, and those before them with `before`; all of them without. Undefined
   * where there is no chat.
   */
  async read(
    chatId: string,
    options: { limit?: number; before?: string; signal?: AbortSignal } = {},
  ): Promise<ChatPage<M> | undefined> {
    checkChat("read", chatId, options, "read");
    return await this.#read(chatId, options);
  }

  /** One page of the chats, newest `activeAt` first, ties by id. Chats that do not change meanwhile come exactly once. */
  async list(options: ListChats = {}): Promise<ChatList> {
    checkChat("list", this.ownerId, options, "list");
    return await listChats(this.#context, this.ownerId, options);
  }

  /**
   * Changes the fields of a chat, neither its messages nor `activeAt`. A function gets the chat as it is at each attempt;
   * undefined changes nothing.
   */
  async update(
    chatId: string,
    patch: ChatPatch | ((chat: Chat) => ChatPatch | undefined),
    options: ChatWrite = {},
  ): Promise<Chat> {
    checkChat("update", chatId, options, "write");
    const isDecided = isFunction(patch) !== undefined;
    if (isDecided) checkPatch("update", patch);
    const { chat } = await this.#write(chatId, {
      method: "update",
      limit: 0,
      options,
      intent: isDecided ? patch : null,
      plan: (view, head) => {
        const fields =
          typeof patch === "function" ? patch(chatOf(head, String(view.revision), this.#context)) : patch;
        if (fields === undefined) return undefined;
        checkPatch("update", fields);
        return { head: patched("update", head, fields) };
      },
    });
    return chat;
  }

  /** Moves a chat to the front of lists. */
  async touch(chatId: string, options: ChatWrite = {}): Promise<Chat> {
    checkChat("touch", chatId, options, "write");
    const plan = () => ({ isActive: true });
    return (await this.#write(chatId, { method: "touch", limit: 0, options, intent: null, plan })).chat;
  }

  /**
   * Adds messages at the end. One whose id is among the newest 64 with the same message is not added again.
   *
   * @throws StoreError `CONFLICT` where that id is another message's, or the last message is not `after`.
   */
  async append(chatId: string, messages: readonly M[], options: Placed = {}): Promise<Chat> {
    checkChat("append", chatId, options, "placed");
    checkMessages("append", messages, this.#context.check);
    const { after } = options;
    const { chat } = await this.#write(chatId, {
      method: "append",
      limit: FIRST_LOOK,
      options,
      intent: [messages, after],
      plan: (view, head, now) => planAppend(view, head, messages, after, now),
    });
    return chat;
  }

  /** Puts a message in the place of the one of its id, wherever that is, or at the end. `createdAt` stays. */
  async upsert(
    chatId: string,
    message: M,
    options: Placed & { readonly status?: MessageStatus } = {},
  ): Promise<Chat> {
    checkChat("upsert", chatId, options, "upsert");
    checkMessages("upsert", [message], this.#context.check);
    const { after, status = "complete" } = options;
    return await this.#place("upsert", chatId, options, [message, after, status], (view, now) =>
      planUpsert(view, message, status, now),
    );
  }

  /** Puts `message` in the place of the one of `messageId` and drops all messages behind it. The ids may differ. */
  async edit(chatId: string, messageId: string, message: M, options: Placed = {}): Promise<Chat> {
    checkChat("edit", chatId, options, "placed");
    checkValue("edit", "messageId", isMessageId, messageId);
    checkMessages("edit", [message], this.#context.check);
    const intent = [messageId, message, options.after];
    return await this.#place("edit", chatId, options, intent, (view, now) =>
      planEdit(view, messageId, message, now),
    );
  }

  /** Drops the messages from (`from`) or behind (`behind`; `null`: all of them) a message. */
  async truncate(chatId: string, cut: Cut, options: Placed = {}): Promise<Chat> {
    checkChat("truncate", chatId, options, "placed");
    checkCut(cut);
    return await this.#place("truncate", chatId, options, [cut, options.after], (view) =>
      planTruncate(view, cut),
    );
  }

  /**
   * Drops an answer: from `messageId` where that is an assistant's or a tool's message, behind it where it is another's, behind
   * the last user's message without.
   */
  async dropAnswer(chatId: string, messageId?: string, options: Placed = {}): Promise<Chat> {
    checkChat("dropAnswer", chatId, options, "placed");
    if (messageId !== undefined) checkValue("dropAnswer", "messageId", isMessageId, messageId);
    return await this.#place("dropAnswer", chatId, options, [messageId, options.after], (view) =>
      planDropAnswer(view, messageId),
    );
  }

  /**
   * Makes a new chat of the messages up to and with `at`. The chat itself stays as it is. In one commit, or where they do not fit
   * one, in several: then there is no new chat until the last, and the same call under its operation id goes on.
   *
   * @throws StoreError `CONFLICT` where the id is taken.
   */
  async fork(chatId: string, options: ForkOptions = {}): Promise<Chat> {
    checkChat("fork", chatId, options, "fork");
    checkPatch("fork", { title: options.title });
    return await forkChat(this.#context, locationOf(this.ownerId, chatId), options);
  }

  /** Returns a chat as plain JSON, for {@link OwnedChats.import} of any store; undefined if it does not exist. */
  async export(chatId: string, options: { signal?: AbortSignal } = {}): Promise<ChatExport | undefined> {
    checkChat("export", chatId, options, "signal");
    const page = await this.#read(chatId, options);
    return page && exportOf(page, this.#context.closeAnswer);
  }

  /**
   * Makes a new chat of an export, with its times. Commits as {@link OwnedChats.fork} does.
   *
   * @throws StoreError `INVALID_STATE` for what is not an export, `CONFLICT` where the id is taken.
   */
  async import(data: unknown, options: ImportOptions = {}): Promise<Chat> {
    checkChat("import", options?.id ?? this.ownerId, options, "import");
    return await importChat(this.#context, this.ownerId, data, options);
  }

  /**
   * Begins a run: makes the change and takes the chat's lease in one commit (with `append` also the chat, where there is none).
   * A function decides the change from the messages as they are, at each attempt. The caller then calls the model, `update`s the run with what there is of the answer, and `end`s it.
   *
   * @throws StoreError `CONFLICT` where a run is under way, see {@link BeginOptions.whileRunning}, and as the change does.
   */
  async begin(
    chatId: string,
    change: RunChange<M> | DecideRunChange<M>,
    options: BeginOptions = {},
  ): Promise<ChatRun<M>> {
    checkChat("begin", chatId, options, "begin");
    if (options.create !== undefined) checkPatch("begin", options.create);
    if (typeof change !== "function") checkRunChange(change, this.#context.check);
    return await beginRun(this.#context, locationOf(this.ownerId, chatId), change, options);
  }

  /** Asks the run of a chat to stop, in any process. Returns false if no run, or another run, is under way. */
  async stop(chatId: string, runId?: string): Promise<boolean> {
    checkChat("stop", chatId, { runId }, "stop");
    return await stopRun(this.#context, locationOf(this.ownerId, chatId), runId);
  }

  /**
   * The chat as it is, then each change of it, until it is gone or the signal is aborted. Writes of this process come at once,
   * others by a read every `everyMs`. Changes may come together.
   */
  follow(chatId: string, options: FollowOptions = {}): AsyncIterable<ChatChange<M>> {
    checkChat("follow", chatId, options, "follow");
    return followChat(this.#context, locationOf(this.ownerId, chatId), options);
  }

  /**
   * Deletes a chat: nothing of it is left at rest. A missing chat is no error. Where this failed, call it again: it, or the next
   * list, finishes what was begun.
   */
  async delete(chatId: string, options: { signal?: AbortSignal } = {}): Promise<void> {
    checkChat("delete", chatId, options, "signal");
    const isFound = await deleteChat(this.#context, locationOf(this.ownerId, chatId), options.signal);
    if (!isFound) await finishDeletions(this.#context, this.ownerId, options.signal);
  }

  /**
   * Deletes all chats of the owner, and then the list. Can be called again after it failed half-way. What is created meanwhile
   * is either deleted or listed.
   *
   * @throws StoreError `CONFLICT` where other processes keep writing, or one died in a write less than 5 minutes ago.
   */
  async deleteAll(options: { signal?: AbortSignal } = {}): Promise<void> {
    checkChat("deleteAll", this.ownerId, options, "signal");
    await deleteAllChats(this.#context, this.ownerId, options.signal);
  }

  /** A write that looks for a message among the newest ones first. */
  async #place(
    method: string,
    chatId: string,
    options: Placed,
    intent: unknown,
    plan: (view: ChatView<M>, now: number) => Promise<Plan<M> | undefined>,
  ): Promise<Chat> {
    let ended: string | undefined;
    const { chat } = await this.#write(chatId, {
      method,
      limit: FIRST_LOOK,
      options,
      intent,
      plan: async (view, head, now) => {
        checkAfter(method, head, options.after);
        const unsaved = method === "upsert" ? undefined : await unsavedRun(view, head);
        const made = await plan(view, now);
        ended = made && unsaved;
        return ended === undefined ? made : { ...made, head: { ...made?.head, run: undefined } };
      },
    });
    this.#context.runs.abort(locationOf(this.ownerId, chatId).threadId, ended, "removed");
    return chat;
  }

  async #write(chatId: string, request: WriteRequest<M>): Promise<Written<M>> {
    return await writeChat(this.#context, locationOf(this.ownerId, chatId), request);
  }

  async #read(
    chatId: string,
    options: { limit?: number; before?: string; signal?: AbortSignal },
  ): Promise<ChatPage<M> | undefined> {
    const { stores } = this.#context;
    const view = await ChatView.read<M>(stores, locationOf(this.ownerId, chatId).threadId, options);
    if (!view.head || view.head.copying || view.revision === null) return undefined;
    const { older } = view;
    const chat = chatOf(view.head, view.revision, this.#context);
    return { chat, entries: view.entries.map(publicEntry), ...(older !== undefined && { older }) };
  }
}

/** The run whose answer has no place among the messages yet: what it answers may be dropped. */
async function unsavedRun<M extends Identified>(
  view: ChatView<M>,
  { run }: Head,
): Promise<string | undefined> {
  if (!run) return undefined;
  const index = await view.findIndex(({ message }) => message.id === run.messageId);
  return index < 0 ? run.id : undefined;
}
