import { constants, isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { type ChatExport, ChatStore, type OwnedChats } from "@scrollback/chats";
import { nameOf } from "@scrollback/collections";
import { StoreError, type StoreFactory } from "@scrollback/store-core";
import { isId } from "@scrollback/store-core/driver";
import type { CommandContext } from "../context/command-context.ts";
import { readChatGpt } from "../formats/chatgpt.ts";
import {
  type Conversation,
  ConversationError,
  fieldsAt,
  LeftOut,
  type ReadConversation,
} from "../formats/conversation.ts";
import { encodeText } from "../formats/entry.ts";
import { readLibreChat } from "../formats/librechat.ts";
import { readOpenWebUi } from "../formats/open-webui.ts";
import { CommandError, exitCodes, unreadableFile } from "../output/exit-codes.ts";
import { shownCount } from "../output/figures.ts";
import { printableLine } from "../output/terminal-text.ts";
import { type ThreadOutcome, type WorkItem, type WorkOptions, workThrough } from "./thread-work.ts";

const applications = {
  chatgpt: { read: readChatGpt, files: /^conversations(-\d+)?\.json$/i },
  "open-webui": { read: readOpenWebUi, files: /^[^.].*\.json$/i },
  librechat: { read: readLibreChat, files: /^[^.].*\.json$/i },
} as const satisfies Record<string, { read: ReadConversation; files: RegExp }>;

/** An application whose export can be imported. */
export type Application = keyof typeof applications;
export const applicationNames = Object.keys(applications) as Application[];

/** The options of {@link importConversations}. */
export interface ConversationOptions extends Pick<WorkOptions, "concurrency" | "report"> {
  readonly from: Application;
  /** The owner of the chats. */
  readonly owner: string;
  readonly dryRun: boolean;
}

/** A conversation in a file, or a file with a problem. */
interface Found extends WorkItem {
  readonly value?: unknown;
  readonly problem?: string;
  /** The time of the file. */
  readonly updatedAt: number;
}

/** A title as long as a list shows it, for a conversation without one. */
const TITLE_OF_TEXT = 80;
/** The maximum title of a chat. */
const MAX_TITLE = 512;

/**
 * Makes a chat of each conversation in the exports of another application, and reports each that it cannot read. Makes no chat twice:
 * the id of a chat is the conversation's.
 */
export async function importConversations(
  context: CommandContext,
  stores: StoreFactory<unknown>,
  paths: readonly string[],
  { from, owner, dryRun, concurrency, report }: ConversationOptions,
): Promise<void> {
  const onError = (error: unknown) =>
    context.output.note(`lists: ${printableLine(context.redact(String(error)))}; rebuild mends them`);
  await using chats = new ChatStore({ stores, onError });
  const mine = chats.of(owner);
  const files = await filesOf(paths, from);
  if (!dryRun) await stores.setup();
  const totals = new LeftOut();
  const work = {
    label: dryRun ? "reading" : "importing",
    resume: "Run the same command again to go on: nothing is doubled.",
  };
  await workThrough(context, conversationsIn(files), { ...work, concurrency, report }, async (found) => {
    const leftOut = new LeftOut();
    const outcome = await importOne(found, leftOut, { mine, from, dryRun, signal: context.signal }).catch(
      unreadable,
    );
    // Of a chat that is there already it was told before.
    if (!outcome.messages) return outcome;
    for (const [kind, count] of leftOut.counts) totals.add(kind, count);
    return { ...outcome, leftOut: Object.fromEntries(leftOut.counts) };
  });
  if (totals.counts.size === 0 || report === "json") return;
  const kinds = [...totals.counts].map(([kind, count]) => `${shownCount(count)} ${kind}`);
  context.output.note(`left out: ${printableLine(kinds.join(", "))}`);
}

interface ImportContext {
  readonly mine: OwnedChats;
  readonly from: Application;
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
}

async function importOne(
  found: Found,
  leftOut: LeftOut,
  { mine, from, dryRun, signal }: ImportContext,
): Promise<ThreadOutcome> {
  const { value, problem: wrong } = found;
  if (wrong !== undefined) throw new ConversationError(wrong);
  const conversation = applications[from].read(fieldsAt(value, "a conversation"), leftOut);
  const { messages } = conversation;
  const id = `${from}-${conversation.id}`;
  const problem = isId(id);
  if (problem) throw new ConversationError(`the id ${problem}`);
  const threadId = `chats:chat:${nameOf(mine.ownerId)}:${nameOf(id)}`;
  if (messages.length === 0) return { threadId, outcome: "empty" };
  if (dryRun) return { threadId, outcome: "readable", messages: messages.length };
  const digest = createHash("sha256").update(encodeText(messages)).digest("base64url");
  const there = await mine.get(id, { signal });
  if (there) return { threadId, ...outcomeOf(there.metadata.importedFrom, digest) };
  const importedFrom = { application: from, id: conversation.id, digest };
  const data = chatOf(conversation, importedFrom, found.updatedAt);
  await mine.import(data, { id, operationId: "import", signal });
  return { threadId, outcome: "imported", messages: messages.length };
}

/** The outcome for a chat that exists. It is never changed: its owner may have gone on with it. */
function outcomeOf(importedFrom: unknown, digest: string): ThreadOutcome {
  if (Object(importedFrom).digest === digest) return { outcome: "there already", messages: 0 };
  const isImported = importedFrom !== undefined;
  const problem = isImported
    ? "the conversation has other messages now than when it was imported; the chat is left as it is: delete it with rm and import again to replace it"
    : "a chat with this id exists and was not imported";
  return {
    outcome: isImported ? "changed since" : "conflict",
    problems: [problem],
    exitCode: exitCodes.conflict,
  };
}

/** The chat, in the format that chats export. */
function chatOf(conversation: Conversation, importedFrom: unknown, fileTime: number): ChatExport {
  const { messages, archived, pinned } = conversation;
  let time =
    conversation.createdAt ?? messages.find((one) => one.createdAt !== undefined)?.createdAt ?? fileTime;
  const createdAt = time;
  const entries = messages.map(({ message, createdAt: written = time, status }) => {
    time = written;
    return { message, createdAt: written, updatedAt: written, status };
  });
  const activeAt = entries.reduce((last, one) => Math.max(last, one.createdAt), createdAt);
  const question = messages.find(({ message }) => message.role === "user")?.message.parts[0]?.text;
  const text =
    conversation.title?.trim().slice(0, MAX_TITLE) ||
    String(question ?? "")
      .trim()
      .slice(0, TITLE_OF_TEXT);
  const chat = {
    ...{ id: "", messageCount: entries.length, createdAt, activeAt, archived, pinned, labels: {} },
    updatedAt: Math.max(conversation.updatedAt ?? 0, activeAt),
    metadata: { importedFrom },
    ...(text !== "" &&
      ({ title: text.toWellFormed(), titleBy: conversation.title?.trim() ? "user" : "text" } as const)),
  };
  return { type: "scrollback.chat", version: 2, chat, entries };
}

/** The outcome for an error of one conversation. Rethrows others. */
function unreadable(error: unknown): ThreadOutcome {
  const isSystem = typeof Object(error).syscall === "string";
  const isOfConversation =
    error instanceof ConversationError ||
    // The stack overflows for values that are nested too deep.
    error instanceof RangeError ||
    StoreError.is(error, "INVALID_STATE") ||
    StoreError.is(error, "INVALID_ARGUMENT");
  if (!isOfConversation && !isSystem) throw error;
  const problem = isSystem ? `the file cannot be read (${Object(error).code})` : (error as Error).message;
  return {
    outcome: "unreadable",
    problems: [problem.replace(/^import: /, "")],
    exitCode: exitCodes.damaged,
  };
}

/** The conversations of files, one file after the other. */
async function* conversationsIn(files: readonly string[]): AsyncGenerator<Found, void, undefined> {
  for (const path of files) {
    const { mtimeMs, size } = await stat(path).catch((error) => unreadableFile(path, error));
    const common = { count: 0, updatedAt: Math.max(0, Math.floor(mtimeMs)) };
    try {
      if (size > constants.MAX_STRING_LENGTH)
        throw new ConversationError("the file is larger than 512 MiB; export the chats in parts");
      const value = parsed(await readFile(path));
      for (const [index, one] of (Array.isArray(value) ? value : [value]).entries())
        yield { ...common, threadId: `${path}:${index + 1}`, value: one };
    } catch (error) {
      yield { ...common, threadId: path, problem: unreadable(error).problems?.[0] ?? "" };
    }
  }
}

function parsed(bytes: Buffer): unknown {
  if (bytes.toString("latin1", 0, 2) === "PK")
    throw new ConversationError("this is a ZIP file; unpack it first");
  // Otherwise other characters would be imported than the file has.
  if (!isUtf8(bytes)) throw new ConversationError("the file is not valid UTF-8");
  try {
    return JSON.parse(bytes.toString("utf8").replace(/^\uFEFF/, ""));
  } catch {
    throw new ConversationError("the file is not valid JSON");
  }
}

/** The files, and those of the folders and their folders that have the application's names. */
async function filesOf(paths: readonly string[], from: Application): Promise<string[]> {
  const files: string[] = [];
  for (const path of paths) {
    const info = await stat(path).catch((error) => unreadableFile(path, error));
    if (!info.isDirectory()) {
      files.push(path);
      continue;
    }
    const entries = await readdir(path, { recursive: true, withFileTypes: true });
    const names = entries.filter((one) => one.isFile() && applications[from].files.test(one.name));
    if (names.length === 0) {
      const wanted = from === "chatgpt" ? "conversations.json" : "JSON";
      throw new CommandError(exitCodes.usage, `${printableLine(path)}: the folder has no ${wanted} file`);
    }
    files.push(...names.map((one) => join(one.parentPath, one.name)).sort());
  }
  return [...new Set(files)];
}
