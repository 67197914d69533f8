import { hash } from "node:crypto";
import { createReadStream } from "node:fs";
import { Blobs, type BlobUse, isListed, type ThreadLife } from "@scrollback/collections/internal";
import { chatMessageTraits, type StoreFactory } from "@scrollback/store-core";
import { createStores, isId, MemoryDriver } from "@scrollback/store-core/driver";
import { isRecordTime, isTtl, kindOf, type ThreadReader } from "@scrollback/store-core/internal";
import { anyMessageTraits, isKnownMessage } from "../context/open-backend.ts";
import { refuseLine } from "../output/exit-codes.ts";
import { jsonLine } from "../output/terminal-text.ts";
import type { WorkItem } from "../threads/thread-work.ts";
import { decodeValue, encodeValue, textOfValue } from "./entry.ts";
import { linesOf, type Position } from "./lines.ts";
import type { StorableCheck } from "./storable.ts";

const VERSION = 1;

type Fields = Readonly<Record<string, unknown>>;

/** The lines of a thread: the last one says whether it could be read to its end. */
export async function* linesOfThread(
  threadId: string,
  reader: ThreadReader<unknown>,
  blobs: Blobs,
  onMessage: () => void,
): AsyncGenerator<string, void, undefined> {
  const { createdAt, updatedAt, expiresAt, metadata } = reader.newest;
  yield jsonLine({
    ...{ type: "thread", version: VERSION, threadId, createdAt, updatedAt },
    ...(expiresAt !== undefined && { expiresAt }),
    ...(metadata !== undefined && encodeValue("metadata", metadata)),
  });
  let messages = 0;
  let last: object = { type: "skip" };
  try {
    for (const use of await blobs.knownUses(threadId)) {
      const found = await blobs.read(use);
      if (!found) continue;
      const content = Buffer.from(found.content).toString("base64");
      yield jsonLine({ type: "file", ...use, sha256: hash("sha256", content, "base64url"), content });
    }
    for await (const page of reader.pages())
      for (const { createdAt, message } of page) {
        yield jsonLine({ type: "message", createdAt, ...encodeValue("message", message) });
        messages += 1;
        onMessage();
      }
    last = { type: "end", messages };
  } finally {
    yield jsonLine(last);
  }
}

/** A message of a file: its time, and its text in the format of `jsonCodec`. */
interface FileMessage {
  readonly createdAt: number;
  readonly text: string;
}

/** A thread in a file. */
interface ThreadInFile extends Position {
  readonly threadId: string;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt?: number;
  /** Text in the format of `jsonCodec`. */
  readonly metadata: string | undefined;
  readonly messages: FileMessage[];
  readonly files: FileContent[];
}

/** A content of a file that a message of the thread uses. */
interface FileContent {
  readonly use: BlobUse & ThreadLife;
  /** Base64. */
  readonly content: string;
}

/** A thread in a file, without its messages, and where it begins. */
export interface FileThread extends WorkItem, Position {}

/** A file of threads. */
export interface ThreadFile {
  readonly path: string;
  /** The name for the user. */
  readonly name: string;
  readonly signal: AbortSignal;
}

/** The threads of a file of which all lines are right. @throws CommandError that names the first wrong line. */
export async function listThreadsOf(file: ThreadFile, check: StorableCheck): Promise<FileThread[]> {
  const threads: FileThread[] = [];
  for await (const { threadId, expiresAt, metadata, messages, offset, number } of readThreads(file, check)) {
    const listed = metadata !== undefined && isListed(decodeValue(metadata));
    threads.push({ threadId, count: messages.length, expiresAt, isListed: listed, offset, number });
  }
  return threads;
}

/**
 * Stores of a thread of a file. The thread's revision is derived from its content. An import is a copy from these stores, so a repeated
 * import of the same file continues an interrupted one.
 */
export async function storesOf(file: ThreadFile, begin: Position): Promise<StoreFactory<unknown>> {
  const driver = new MemoryDriver();
  const stores = createStores<unknown>(driver, { traits: anyMessageTraits });
  const blobs = new Blobs(stores.withTraits(chatMessageTraits));
  for await (const { threadId, messages, files, metadata, createdAt, updatedAt } of readThreads(
    file,
    undefined,
    begin,
  )) {
    const content = JSON.stringify([threadId, createdAt, updatedAt, metadata, messages]);
    const digest = hash("sha256", content, "base64url");
    await driver.commit({
      ...{ threadId, operationId: "import", digest, newIncarnation: digest.slice(0, 16) },
      append: messages.map((one) => ({ kind: kindOf(decodeValue(one.text), anyMessageTraits), ...one })),
      ...{ metadata, createdAt, updatedAt, expectedRevision: null, drop: 0 },
      ...{ maxMessages: undefined, trimming: "exact", ttlMs: undefined, signal: undefined },
    });
    for (const { use, content } of files)
      await blobs.keep(threadId, use, async () => new Uint8Array(Buffer.from(content, "base64")));
    break;
  }
  return stores;
}

async function* readThreads(
  { path, name, signal }: ThreadFile,
  check: StorableCheck = async () => undefined,
  from?: Position,
): AsyncGenerator<ThreadInFile, void, undefined> {
  const begun = new Map<string, number>();
  let thread: ThreadInFile | undefined;
  const stream = createReadStream(path, { start: from?.offset, signal });
  for await (const { text, offset, number } of linesOf(stream, name, from)) {
    const refuse = (problem: string): never => refuseLine(name, number, `${problem}; nothing was imported`);
    const value = fieldsOf(text) ?? refuse("not a JSON object");
    if (!thread) {
      if (value.type !== "thread") refuse('type must be "thread", where no thread has begun');
      thread = { ...(await headOf(value, check, refuse)), offset, number, messages: [], files: [] };
      const before = begun.get(thread.threadId);
      if (before !== undefined) refuse(`threadId is that of line ${before}, too`);
      begun.set(thread.threadId, number);
    } else if (value.type === "file") thread.files.push(fileOf(value, refuse));
    else if (value.type === "message") thread.messages.push(await messageOf(value, check, refuse));
    else if (value.type === "end") {
      const { length } = thread.messages;
      if (value.messages !== length)
        refuse(
          `messages must be ${length}, as many as the thread of line ${thread.number} has: lines are missing or were added`,
        );
      yield thread;
      thread = undefined;
    } else if (value.type === "skip") thread = undefined;
    else
      refuse(
        `type must be "file", "message", "end" or "skip", as the thread of line ${thread.number} has not ended`,
      );
  }
  if (thread) refuseLine(name, thread.number, "the file ends before this thread does; nothing was imported");
}

function fieldsOf(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Fields)
      : undefined;
  } catch {
    return undefined;
  }
}

type Refuse = (problem: string) => never;

async function headOf(
  head: Fields,
  check: StorableCheck,
  refuse: Refuse,
): Promise<Omit<ThreadInFile, keyof Position | "messages" | "files">> {
  if (head.version !== VERSION)
    refuse(`version must be ${VERSION}; was it written by a newer version of the CLI?`);
  const id = isId(head.threadId);
  if (id) refuse(`threadId ${id}`);
  const times = { createdAt: head.createdAt, updatedAt: head.updatedAt, expiresAt: head.expiresAt };
  for (const [name, time] of Object.entries(times)) {
    const problem = name === "expiresAt" && time === undefined ? undefined : isRecordTime(time);
    if (problem) refuse(`${name} ${problem}`);
  }
  const { createdAt, updatedAt, expiresAt } = times as Record<keyof typeof times, number>;
  if (expiresAt !== undefined && isTtl(Math.max(1, Math.ceil(expiresAt - Date.now()))))
    refuse("expiresAt must be at most 36,500 days from now");
  const metadata = textAt("metadata", head, refuse);
  const problem = metadata !== undefined && (await check({ metadata: decodeValue(metadata) }));
  if (problem) refuse(`metadata ${problem}`);
  const expiry = expiresAt !== undefined && { expiresAt };
  return { threadId: String(head.threadId), createdAt, updatedAt, ...expiry, metadata };
}

function textAt(name: string, line: Fields, refuse: Refuse): string | undefined {
  try {
    return textOfValue(name, line);
  } catch {
    return refuse(`${name} was not written by export`);
  }
}

function fileOf({ id, scope, digest, incarnation, sha256, content }: Fields, refuse: Refuse): FileContent {
  const isBase64 =
    typeof content === "string" && Buffer.from(content, "base64").toString("base64") === content;
  if (!isBase64) return refuse("content must be base64");
  if (sha256 !== hash("sha256", content, "base64url")) refuse("sha256 must be that of the content");
  if (typeof digest !== "string" || !/^[\w-]{43}$/.test(digest)) refuse("digest must be the id of a file");
  if (typeof scope !== "string" || isId(scope)) refuse("scope must be the name of an owner");
  if (typeof id !== "string" || !/^[\w-]{12}$/.test(id)) refuse("id must be that of a use");
  if (incarnation !== undefined && (typeof incarnation !== "string" || isId(incarnation)))
    refuse("incarnation must be that of a thread");
  const life = incarnation === undefined ? undefined : String(incarnation);
  return {
    use: { id: String(id), scope: String(scope), digest: String(digest), incarnation: life },
    content,
  };
}

async function messageOf(line: Fields, check: StorableCheck, refuse: Refuse): Promise<FileMessage> {
  const { createdAt } = line;
  const time = isRecordTime(createdAt);
  if (time) refuse(`createdAt ${time}`);
  const text = textAt("message", line, refuse) ?? refuse("message is missing");
  const message = decodeValue(text);
  if (typeof message !== "object" || message === null || Array.isArray(message))
    return refuse("message must be an object");
  // Messages of other types have no role, or no content.
  const isChat = "role" in message && "content" in message;
  const wrong = isChat && !isKnownMessage(message) && chatMessageTraits.check?.(message);
  if (wrong) refuse(`message.${wrong}`);
  const problem = await check({ message });
  if (problem) refuse(`message ${problem}`);
  return { createdAt: Number(createdAt), text };
}
