// Exceeds 300 lines because every call on chats is declared here once, with its contract.
import { checkMessages, checkValue, isFunction, resultNow } from "@scrollback/store-core/internal";
import type {
  Chat,
  ChatEntry,
  ChatList,
  ChatMessageEntry,
  ChatPage,
  ChatPatch,
  ChatWrite,
  Dropping,
  Identified,
  ListChats,
  MessageStatus,
  NewChat,
  Placed,
  ReadFiles,
  SiblingGroup,
} from "../chat.ts";
import {
  checkChat,
  checkCut,
  checkMessagePatch,
  checkNewMessages,
  checkPatch,
  checkRunChange,
  isMessageId,
} from "../checks.ts";
import { type ChatExport, exportOf } from "../copy/export-chat.ts";
import { type ForkOptions, forkChat } from "../copy/fork-chat.ts";
import { type ImportOptions, importChat } from "../copy/import-chat.ts";
import { wholeEntries } from "../files/whole-entries.ts";
import { ChatView, FIRST_LOOK, OutdatedError } from "../read/chat-view.ts";
import { publicEntry, type StoredEntry } from "../read/entries.ts";
import { type ChatChange, type FollowOptions, followChat } from "../read/follow-chat.ts";
import { chatOf, type Head, newHead } from "../read/head.ts";
import { listedAs, memberOf } from "../read/listed-chat.ts";
import {
  type BeginOptions,
  beginRun,
  type DecideRunChange,
  type RunChange,
  stopRun,
} from "../run/begin-run.ts";
import type { ChatRun, RunContext } from "../run/runs.ts";
import { type ChatContinuation, readContinuations } from "../siblings/copied-continuations.ts";
import { planDeleteSibling, planSwitch } from "../siblings/switch-chat.ts";
import type { AnswerThread } from "../streams/answer-thread.ts";
import { idOfOperation, locationOf } from "../threads.ts";
import {
  appended,
  type Cut,
  patched,
  planAppend,
  planDelete,
  planDropAnswer,
  planEdit,
  planMetadata,
  planTruncate,
  planUpsert,
} from "../write/changes.ts";
import {
  checkAfter,
  type Plan,
  takenId,
  type WriteRequest,
  type Written,
  whileOutdated,
  writeChat,
} from "../write/write-chat.ts";
import { deleteAllChats, deleteChat } from "./delete-chats.ts";
import { listChats } from "./list-chats.ts";

let contextOf: <M extends Identified>(chats: OwnedChats<M>) => RunContext<M>;

/** The text of a chat's running answer for other processes; undefined if the stores cannot have it. */
export function answerThreadOf<M extends Identified>(
  chats: OwnedChats<M>,
  chatId: string,
): AnswerThread | undefined {
  return contextOf(chats).streams.of(locationOf(chats.ownerId, chatId).threadId);
}

/** The chats of one owner. Another owner's chat is `NOT_FOUND`, because the owner is part of a chat's thread id. */
export class OwnedChats<M extends Identified = Identified> {
  /** The owner of these chats. */
  readonly ownerId: string;
  readonly #context: RunContext<M>;

  static {
    contextOf = (chats) => chats.#context;
  }

  /** Created by {@link ChatStore.of}. */
  constructor(context: RunContext<M>, ownerId: string) {
    this.#context = context;
    this.ownerId = ownerId;
  }

  /**
   * Creates a chat.
   *
   * @throws StoreError `CONFLICT` if the id is taken, except by the same call with the same operation id.
   */
  async create(chat: NewChat<M> = {}, options: Omit<ChatWrite, "expectedRevision"> = {}): Promise<Chat> {
    checkPatch("create", chat, "create");
    const { messages: whole = [], forkedFrom, id: given, ...patch } = chat;
    checkNewMessages("create", whole, this.#context.check);
    const messages = whole.map((message) => this.#extract(message));
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
        const entries = appended(view, messages, now);
        return { entries, head: { ...patched("create", head, patch, entries), forkedFrom } };
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
   * Returns the newest `limit` messages of a chat, oldest first; with `before`, those before that cursor; without `limit`, all.
   * Undefined if the chat does not exist.
   */
  async read(
    chatId: string,
    options: ReadFiles & { limit?: number; before?: string; signal?: AbortSignal } = {},
  ): Promise<ChatPage<M> | undefined> {
    checkChat("read", chatId, options, "read");
    return await this.#read(chatId, options);
  }

  /** Returns one message of a chat; undefined if the chat or the message does not exist. */
  async readMessage(
    chatId: string,
    messageId: string,
    options: ReadFiles & { signal?: AbortSignal } = {},
  ): Promise<ChatMessageEntry<M> | undefined> {
    checkChat("readMessage", chatId, options, "message");
    checkValue("readMessage", "messageId", isMessageId, messageId);
    const find = async () => {
      const found = await this.#view(chatId, { ...options, limit: FIRST_LOOK });
      if (!found) return undefined;
      const { view, chat } = found;
      const index = await view.findIndex(({ message }) => message.id === messageId);
      const entry = view.entries[index];
      if (!entry) return undefined;
      const [whole] = await this.#restored(chat, [publicEntry(entry)], options);
      return whole && { chat, entry: whole };
    };
    return await whileOutdated("readMessage", find, options);
  }

  /**
   * One page of the chats, newest `activeAt` first, ties by id, downwards. Chats that do not change meanwhile are on exactly one page. A
   * page with `pinned: false`, or with labels that are not indexed, may be short and have a cursor: it passes at most 500 chats.
   */
  async list(options: ListChats = {}): Promise<ChatList> {
    checkChat("list", this.ownerId, options, "list");
    return await listChats(this.#context, this.ownerId, options);
  }

  /**
   * Changes the fields of a chat, but neither its messages nor `activeAt`. A function receives the current chat at each attempt;
   * if it returns undefined, nothing changes.
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
      plan: async (view, head) => {
        const fields =
          typeof patch === "function"
            ? resultNow("update: the patch", patch(chatOf(head, String(view.revision), this.#context)))
            : patch;
        if (fields === undefined) return undefined;
        checkPatch("update", fields);
        const titleOf = fields.titleOf && this.#extract(fields.titleOf);
        if (titleOf) await view.findIndex(({ message }) => message.id === titleOf.id);
        return { head: patched("update", head, { ...fields, ...(titleOf && { titleOf }) }, view.entries) };
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
   * Adds messages at the end. A message that equals one of the newest 64 with the same id is not added again.
   *
   * @throws StoreError `CONFLICT` if a different message has that id, or the last message is not `after`.
   */
  async append(chatId: string, added: readonly M[], options: Placed = {}): Promise<Chat> {
    checkChat("append", chatId, options, "placed");
    checkNewMessages("append", added, this.#context.check);
    const messages = added.map((message) => this.#extract(message));
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

  /**
   * Replaces the message with the same id, at any position, or adds the message at the end. A message that is replaced keeps its
   * `createdAt`, and its status and error unless `status` is another one; the chat keeps its place in lists. A message that is added
   * is `"complete"` by default.
   */
  async upsert(
    chatId: string,
    message: M,
    options: Placed & { readonly status?: MessageStatus } = {},
  ): Promise<Chat> {
    checkChat("upsert", chatId, options, "upsert");
    checkMessages("upsert", [message], this.#context.check);
    const { after, status } = options;
    const stored = this.#extract(message);
    return await this.#place("upsert", chatId, options, [stored, after, status], (view, head, now) =>
      planUpsert(view, head, stored, status, now),
    );
  }

  /**
   * Replaces the message with the id `messageId` by `message` and drops all later messages. The ids may differ. With `keepSibling`, what
   * is dropped stays as a sibling of `message`; a sibling that had the id of `message` gets another one.
   *
   * @throws StoreError `TOO_LARGE`, before anything changes, if what is to be kept does not fit in one commit.
   */
  async edit(chatId: string, messageId: string, message: M, options: Dropping = {}): Promise<Chat> {
    checkChat("edit", chatId, options, "dropping");
    checkValue("edit", "messageId", isMessageId, messageId);
    checkMessages("edit", [message], this.#context.check);
    const { after, keepSibling = false } = options;
    const stored = this.#extract(message);
    const intent = [messageId, stored, after, keepSibling];
    return await this.#place("edit", chatId, options, intent, (view, head, now) =>
      planEdit(this.#context, view, head, messageId, stored, keepSibling, now),
    );
  }

  /** Drops a message and all later ones (`from`), or only the later ones (`behind`; `null`: all messages). */
  async truncate(chatId: string, cut: Cut, options: Placed = {}): Promise<Chat> {
    checkChat("truncate", chatId, options, "placed");
    checkCut(cut);
    return await this.#place("truncate", chatId, options, [cut, options.after], (view) =>
      planTruncate(view, cut),
    );
  }

  /**
   * Drops an answer. With a `messageId` of an assistant or tool message, drops from that message on; with another message's id,
   * drops all messages after it. Without `messageId`, drops all messages after the last user message. With `keepSibling`, what is
   * dropped stays as a sibling of the next answer.
   *
   * @throws StoreError as {@link OwnedChats.edit}.
   */
  async dropAnswer(chatId: string, messageId?: string, options: Dropping = {}): Promise<Chat> {
    checkChat("dropAnswer", chatId, options, "dropping");
    if (messageId !== undefined) checkValue("dropAnswer", "messageId", isMessageId, messageId);
    const { after, keepSibling = false } = options;
    const intent = [messageId, after, keepSibling];
    return await this.#place("dropAnswer", chatId, options, intent, (view, head, now) =>
      planDropAnswer(this.#context, view, head, messageId, keepSibling, now),
    );
  }

  /**
   * The ids of the messages that have one place in a chat, oldest first: that of a message of the path which has siblings, or of a
   * sibling that is not on the path. Each is the first message of a continuation of the chat. Undefined if there is no such message.
   */
  async siblings(
    chatId: string,
    messageId: string,
    options: { signal?: AbortSignal } = {},
  ): Promise<SiblingGroup | undefined> {
    checkValue("siblings", "messageId", isMessageId, messageId);
    const chat = await this.get(chatId, options);
    return chat?.siblings?.find(({ ids }) => ids.includes(messageId));
  }

  /**
   * Puts a sibling, with the messages that followed it, in the place of its sibling on the path, which stays with what follows it. A
   * message that is on the path changes nothing.
   *
   * @throws StoreError `NOT_FOUND` without such a sibling, or if it has expired; `CONFLICT` while a run of the chat is active.
   */
  async switchTo(chatId: string, messageId: string, options: Placed = {}): Promise<Chat> {
    checkChat("switchTo", chatId, options, "placed");
    checkValue("switchTo", "messageId", isMessageId, messageId);
    const intent = [messageId, options.after];
    return await this.#place("switchTo", chatId, options, intent, (view, head, now) =>
      planSwitch(this.#context, view, head, messageId, now, options.signal),
    );
  }

  /**
   * Deletes a sibling that is not on the path, with the messages that followed it. None of its data stays stored. After a failure, call
   * it again.
   *
   * @throws StoreError `NOT_FOUND` without such a sibling, `CONFLICT` for a message that is on the path.
   */
  async deleteSibling(chatId: string, messageId: string, options: Placed = {}): Promise<Chat> {
    checkChat("deleteSibling", chatId, options, "placed");
    checkValue("deleteSibling", "messageId", isMessageId, messageId);
    return await this.#place("deleteSibling", chatId, options, [messageId, options.after], async (_, head) =>
      planDeleteSibling(head, messageId),
    );
  }

  /**
   * Deletes one message; the others stay. A tool exchange is never cut: an assistant's message and the tool messages directly behind
   * it are deleted together. With `with: "answer"` the whole answer is deleted, which is all assistant and tool messages in a row: of
   * a message of an answer, this answer; of another message, this message and the answer directly behind it. Stores the messages
   * behind it again, in the same commit.
   *
   * @throws StoreError `CONFLICT` while a run makes one of these messages or answers one of them; `NOT_FOUND`; `TOO_LARGE` if the
   *   messages behind it do not fit in one commit.
   */
  async deleteMessage(
    chatId: string,
    messageId: string,
    options: Placed & { readonly with?: "answer" } = {},
  ): Promise<Chat> {
    checkChat("deleteMessage", chatId, options, "delete-message");
    checkValue("deleteMessage", "messageId", isMessageId, messageId);
    const intent = [messageId, options.with, options.after];
    return await this.#place("deleteMessage", chatId, options, intent, (view, head, now) =>
      planDelete(view, head, messageId, options.with === "answer", now),
    );
  }

  /**
   * Replaces the `metadata` of a message; `null` removes it. Changes nothing else: the status and the title stay, and the place in
   * lists.
   *
   * @throws StoreError `CONFLICT` while a run of the chat is active; `NOT_FOUND`; `INVALID_ARGUMENT` if `check` refuses the message.
   */
  async updateMessage(
    chatId: string,
    messageId: string,
    patch: { readonly metadata: unknown },
    options: Placed = {},
  ): Promise<Chat> {
    checkChat("updateMessage", chatId, options, "placed");
    checkValue("updateMessage", "messageId", isMessageId, messageId);
    checkMessagePatch(patch);
    const { metadata } = patch;
    const { check } = this.#context;
    const intent = [messageId, metadata, options.after];
    return await this.#place("updateMessage", chatId, options, intent, (view, head, now) =>
      planMetadata(view, head, messageId, metadata, check, now),
    );
  }

  /**
   * Creates a new chat from the messages up to and including `at`. The original chat does not change. Uses one commit, or several
   * if the messages do not fit in one. Then the new chat exists only after the last commit, and a repeated call with the same
   * operation id continues an interrupted one.
   *
   * @throws StoreError `CONFLICT` if the id is taken.
   */
  async fork(chatId: string, options: ForkOptions = {}): Promise<Chat> {
    checkChat("fork", chatId, options, "fork");
    checkPatch("fork", { title: options.title });
    return await forkChat(this.#context, locationOf(this.ownerId, chatId), options);
  }

  /** Returns a chat as plain JSON, for {@link OwnedChats.import} of any store; undefined if it does not exist. */
  async export(chatId: string, options: { signal?: AbortSignal } = {}): Promise<ChatExport | undefined> {
    checkChat("export", chatId, options, "signal");
    const read = async () => {
      const found = await this.#view(chatId, options);
      if (!found) return undefined;
      const { view, chat } = found;
      const { parts = {} } = view.head ?? {};
      const { threadId } = locationOf(this.ownerId, chatId);
      const kept = await readContinuations(this.#context, threadId, parts, options.signal);
      // One may have expired, or another writer has made it the path.
      if (
        kept.length < Object.keys(parts).length &&
        (await this.get(chatId, options))?.revision !== chat.revision
      )
        throw new OutdatedError("the chat has changed while it was exported");
      const whole = (entries: readonly StoredEntry<M>[]) =>
        this.#restored(chat, entries.map(publicEntry), options);
      const continuations: ChatContinuation<M>[] = [];
      for (const one of kept) continuations.push({ ...one, entries: await whole(one.entries) });
      return exportOf({ chat, entries: await whole(view.entries) }, continuations, this.#context.closeAnswer);
    };
    return await whileOutdated("export", read, options);
  }

  /**
   * Creates a new chat from an export, with its times. Uses the same commits as {@link OwnedChats.fork}.
   *
   * @throws StoreError `INVALID_STATE` for a value that is not an export, `CONFLICT` if the id is taken.
   */
  async import(data: unknown, options: ImportOptions = {}): Promise<Chat> {
    checkChat("import", options?.id ?? this.ownerId, options, "import");
    return await importChat(this.#context, this.ownerId, data, options);
  }

  /**
   * Begins a run: commits the change and the chat's lease in one commit (with `append`, also creates a missing chat). A function
   * decides the change from the current messages, at each attempt. The caller then calls the model, `update`s the run with the
   * partial answer, and `end`s it.
   *
   * @throws StoreError `CONFLICT` if a run is active, see {@link BeginOptions.whileRunning}; and the errors of the change.
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

  /**
   * Requests the run of a chat, in any process, to stop. Returns false if no run, or another run, is active. A run of this process
   * is aborted at once, also if the call then fails.
   */
  async stop(chatId: string, runId?: string): Promise<boolean> {
    checkChat("stop", chatId, { runId }, "stop");
    return await stopRun(this.#context, locationOf(this.ownerId, chatId), runId);
  }

  /**
   * Yields the current chat, then each change of it, until the chat is deleted or the signal is aborted. Yields writes of this
   * process at once, and writes of other processes after a hint of the stores, or a read every `everyMs`. May combine several changes.
   */
  follow(chatId: string, options: FollowOptions = {}): AsyncIterable<ChatChange<M>> {
    checkChat("follow", chatId, options, "follow");
    return followChat(this.#context, locationOf(this.ownerId, chatId), options);
  }

  /**
   * Deletes a chat, readable or not. None of its data stays stored. A missing chat is not an error. After a failure, call it again.
   */
  async delete(chatId: string, options: { signal?: AbortSignal } = {}): Promise<void> {
    checkChat("delete", chatId, options, "signal");
    await deleteChat(this.#context, locationOf(this.ownerId, chatId), { signal: options.signal });
  }

  /**
   * Deletes all chats of the owner that exist now, readable or not. After a failure, call it again. Ends beside writers: a chat that
   * is created meanwhile may stay, and is listed.
   *
   * @throws the error of the first chat that cannot be deleted, after the others are.
   */
  async deleteAll(options: { signal?: AbortSignal } = {}): Promise<void> {
    checkChat("deleteAll", this.ownerId, options, "signal");
    await deleteAllChats(this.#context, this.ownerId, options.signal);
  }

  /** A write that first searches the newest entries for a message. */
  async #place(
    method: string,
    chatId: string,
    options: Placed,
    intent: unknown,
    plan: (view: ChatView<M>, head: Head, now: number) => Promise<Plan<M> | undefined>,
  ): Promise<Chat> {
    const { threadId } = locationOf(this.ownerId, chatId);
    let isRepeated = false;
    let ended: string | undefined;
    const written = this.#write(chatId, {
      method,
      limit: FIRST_LOOK,
      options,
      intent,
      plan: async (view, head, now) => {
        checkAfter(method, head, options.after);
        const unsaved = DROPS_LATER.includes(method) ? await unsavedRun(view, head) : undefined;
        const made = await plan(view, head, now);
        ended = made && unsaved;
        return ended === undefined ? made : { ...made, head: { ...made?.head, run: undefined } };
      },
      repeated: () => {
        isRepeated = true;
      },
    });
    const { chat } = await written;
    this.#context.runs.abort(threadId, ended, "removed");
    // The first call may have ended before it erased what it dropped.
    if (isRepeated) await this.#context.parts.sweep(threadId);
    return chat;
  }

  /**
   * The content of a file, see {@link ChatEntry.files}, or its bytes from `start` to before `end`, and the size of the whole content.
   * Undefined if no chat of the owner has it.
   */
  async readFile(
    fileId: string,
    options: { readonly start?: number; readonly end?: number; readonly signal?: AbortSignal } = {},
  ): Promise<{ readonly content: Uint8Array; readonly size: number } | undefined> {
    checkChat("readFile", fileId, options, "file");
    const { ownerName } = locationOf(this.ownerId, this.ownerId);
    return await this.#context.files.read(ownerName, fileId, options);
  }

  /**
   * A value with the contents of files in the place of their references, at any depth: a message that was read with references, or model
   * messages that were made of it. Loads only files to which the value has references.
   *
   * @param fileIds what may be loaded: {@link ChatEntry.files}. References to other files, and to files that are not there, stay.
   * @param options `urlsForMs`: where `blobs` has URLs, they take the place of data URLs, and can be read for so many milliseconds. Default:
   *   contents alone.
   */
  async withFiles<T>(
    value: T,
    fileIds: readonly string[],
    options: { readonly urlsForMs?: number; readonly signal?: AbortSignal } = {},
  ): Promise<T> {
    checkChat("withFiles", this.ownerId, options, "with-files");
    const { ownerName } = locationOf(this.ownerId, this.ownerId);
    return await this.#context.files.put(ownerName, value, fileIds, options);
  }

  /** A message as it is stored: with references in the place of its large files. Writes take it as they take the whole message. Does no I/O. */
  withoutFiles(message: M): M {
    checkMessages("withoutFiles", [message], this.#context.check);
    return this.#extract(message);
  }

  #extract<T extends object>(message: T): T {
    return this.#context.files.extract(locationOf(this.ownerId, this.ownerId), message);
  }

  /** Entries of a chat as they are read. @throws OutdatedError if it has changed meanwhile. */
  async #restored(
    { id, revision }: Chat,
    entries: ChatEntry<M>[],
    { files = "contents", signal }: ReadFiles & { signal?: AbortSignal },
  ): Promise<ChatEntry<M>[]> {
    if (files === "references") return entries;
    const location = locationOf(this.ownerId, id);
    return await wholeEntries(this.#context, location, entries, { revision, signal });
  }

  async #write(chatId: string, request: WriteRequest<M>): Promise<Written<M>> {
    return await writeChat(this.#context, locationOf(this.ownerId, chatId), request);
  }

  async #read(
    chatId: string,
    options: ReadFiles & { limit?: number; before?: string; signal?: AbortSignal },
  ): Promise<ChatPage<M> | undefined> {
    const read = async () => {
      const found = await this.#view(chatId, options);
      if (!found) return undefined;
      const { chat, view } = found;
      const { older } = view;
      const entries = await this.#restored(chat, view.entries.map(publicEntry), options);
      return { chat, entries, ...(older !== undefined && { older }) };
    };
    return await whileOutdated("read", read, options);
  }

  /** A chat that exists, with its newest entries. */
  async #view(
    chatId: string,
    options: { limit?: number; before?: string; signal?: AbortSignal },
  ): Promise<{ chat: Chat; view: ChatView<M> } | undefined> {
    const { stores, lists } = this.#context;
    const location = locationOf(this.ownerId, chatId);
    const view = await ChatView.read<M>(stores, location.threadId, options);
    if (!view.head || view.head.copying || view.revision === null) return undefined;
    // A process that died after its commit may not have told the lists.
    lists.seen(memberOf(this.#context, location), listedAs(view.head, view.revision, view.expiresAt));
    return { chat: chatOf(view.head, view.revision, this.#context), view };
  }
}

/** The writes that may drop the message that a run answers. */
const DROPS_LATER: readonly string[] = ["edit", "truncate", "dropAnswer"];

/** The run whose answer is not yet among the messages, so the message that it answers may be dropped. */
async function unsavedRun<M extends Identified>(
  view: ChatView<M>,
  { run }: Head,
): Promise<string | undefined> {
  if (!run) return undefined;
  const index = await view.findIndex(({ message }) => message.id === run.messageId);
  return index < 0 ? run.id : undefined;
}
