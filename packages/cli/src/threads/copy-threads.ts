import { createHash } from "node:crypto";
import { Blobs, isListed } from "@scrollback/collections/internal";
import { chatMessageTraits, type MessageStore, StoreError, type StoreFactory } from "@scrollback/store-core";
import { isUnfinishedCopy, ThreadReader } from "@scrollback/store-core/internal";
import type { CommandContext } from "../context/command-context.ts";
import { encodeText } from "../formats/entry.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { countOf } from "../output/figures.ts";
import { listIfMissing } from "./listed-threads.ts";
import {
  type ThreadOutcome,
  unfinishedCopy,
  type WorkItem,
  type WorkOptions,
  withoutCorruptRecords,
  workThrough,
} from "./thread-work.ts";

/** The options of {@link copyThreads}. */
export interface CopyOptions extends Pick<WorkOptions, "label" | "concurrency" | "report"> {
  /** The word for a copied thread. */
  readonly done: string;
  /** Copies the readable records of a thread with unreadable ones. */
  readonly skipCorrupt: boolean;
  /** Compares all threads afterwards. */
  readonly verify: boolean;
}

/** The stores that have a thread. */
type SourceOf<T> = (thread: T) => StoreFactory<unknown> | Promise<StoreFactory<unknown>>;

/** Copies threads to a factory under the same ids, several concurrently. */
export async function copyThreads<T extends WorkItem>(
  context: CommandContext,
  sourceOf: SourceOf<T>,
  target: StoreFactory<unknown>,
  threads: readonly T[],
  { label, done, concurrency, report, skipCorrupt, verify }: CopyOptions,
): Promise<void> {
  let listed = 0;
  const resume = "Run the same command again to go on: nothing is doubled.";
  await workThrough(context, threads, { label, concurrency, report, resume }, async (thread) => {
    const { threadId, isListed, expiresAt } = thread;
    if (isExpired(expiresAt)) return { outcome: "expired" };
    const source = await sourceOf(thread);
    await copyFiles(context, source, target, threadId);
    const made = await withoutCorruptRecords(skipCorrupt, () =>
      copyOne(context, source, target, thread, done),
    );
    const isThere = made.messages !== undefined;
    if (isThere && isListed && (await listIfMissing(target, threadId, context.signal))) listed++;
    return made;
  });
  if (listed > 0) context.output.note(`${countOf(listed, "thread")} listed again in the target`);
  if (!verify) return;
  const again = { label: "comparing", resume: "Run the same command again to compare." };
  await workThrough(context, threads, { ...again, concurrency, report }, async (thread) => {
    const { threadId, expiresAt } = thread;
    if (isExpired(expiresAt)) return { outcome: "expired" };
    if (await isEqual(await sourceOf(thread), target, threadId, context.signal)) return { outcome: "equal" };
    const problems = ["source and target do not hold the same"];
    return { outcome: "different", problems, exitCode: exitCodes.damaged };
  });
}

/** Before the thread, so that it is never there without its files. */
async function copyFiles(
  { blobs, signal }: CommandContext,
  source: StoreFactory<unknown>,
  target: StoreFactory<unknown>,
  threadId: string,
): Promise<void> {
  const from = new Blobs(source.withTraits(chatMessageTraits), { elsewhere: blobs });
  const to = new Blobs(target.withTraits(chatMessageTraits));
  for (const use of await from.knownUses(threadId, signal))
    await to.keep(threadId, use, async () => (await from.read(use, { signal }))?.content, signal);
}

async function copyOne(
  { signal }: CommandContext,
  source: StoreFactory<unknown>,
  target: StoreFactory<unknown>,
  { threadId, count, expiresAt }: WorkItem,
  done: string,
): Promise<ThreadOutcome> {
  const ttl = expiresAt !== undefined && { ttlMs: Math.max(1, Math.ceil(expiresAt - Date.now())) };
  // A copy without messages does not tell whether it was made now.
  const wasThere = count > 0 || (await target.open(threadId).read({ limit: 0, signal })).revision !== null;
  const copy = source.copyThread(threadId, threadId, { target, signal, ...ttl });
  const made = await copy.catch((error: unknown) => {
    if (StoreError.is(error, "CONFLICT")) return error;
    throw isForeign(error) ? otherInstallation(error) : error;
  });
  const isConflict = StoreError.is(made);
  if (isConflict && (await isUnfinished(source, threadId, signal))) return unfinishedCopy;
  if (!isConflict && made.revision === null) return { outcome: "gone meanwhile" };
  const messages = isConflict ? 0 : made.copied;
  // An earlier copy may be finished, and one of the threads changed since.
  if (messages === 0 && !(await isEqual(source, target, threadId, signal))) {
    const hint = "; the target has an unfinished copy: delete it, then copy again";
    const problem = isConflict
      ? `${made.message}${(await isUnfinished(target, threadId, signal)) ? hint : ""}`
      : "source or target was written to after the copy, which is left as it is";
    const outcome = isConflict ? "conflict" : "changed since";
    return { outcome, problems: [problem], exitCode: exitCodes.conflict };
  }
  return { outcome: messages > 0 || !wasThere ? done : "there already", messages };
}

function isExpired(expiresAt: number | undefined): boolean {
  return expiresAt !== undefined && expiresAt <= Date.now();
}

/** Whether a thread is the same on both sides. */
async function isEqual(
  source: StoreFactory<unknown>,
  target: StoreFactory<unknown>,
  threadId: string,
  signal: AbortSignal,
): Promise<boolean> {
  const [one, other] = await Promise.all(
    [source, target].map((stores) => digestOf(stores.open(threadId), signal)),
  );
  return one === other;
}

/**
 * A digest of a thread: its messages and their times, its metadata, and its own times, but not the entries that list it, which each backend
 * has of its own. `null`: the thread does not exist.
 */
async function digestOf(store: MessageStore<unknown>, signal: AbortSignal): Promise<string | null> {
  const reader = await ThreadReader.begin(store, { signal });
  const { revision, createdAt, updatedAt, metadata } = reader.newest;
  if (revision === null) return null;
  const digest = createHash("sha256");
  // As JSON, so that different lists have different texts.
  const add = (...parts: unknown[]) => digest.update(JSON.stringify(parts));
  add(createdAt, updatedAt, metadata === undefined ? undefined : encodeText(withoutEntries(metadata)));
  for await (const page of reader.pages())
    for (const entry of page) add(entry.createdAt, encodeText(entry.message));
  return digest.digest("base64url");
}

function withoutEntries(metadata: unknown): unknown {
  if (!isListed(metadata)) return metadata;
  const { in: places, left: _left, ...listed } = metadata.listed;
  return { ...metadata, listed: { ...listed, in: Object.keys(places).sort() } };
}

async function isUnfinished(stores: StoreFactory<unknown>, threadId: string, signal: AbortSignal) {
  return isUnfinishedCopy((await stores.open(threadId).read({ limit: 0, signal })).metadata);
}

/** Whether two copies of store-core created source and target. They do not recognise each other's factories. */
function isForeign(error: unknown): boolean {
  return StoreError.is(error, "INVALID_ARGUMENT") && error.message.startsWith("copyThread: target");
}

function otherInstallation(cause: unknown): CommandError {
  return new CommandError(
    exitCodes.usage,
    "the adapters come from two installations of @scrollback/store-core; install the CLI and all adapters in one project: " +
      "npm install --save-dev @scrollback/cli",
    { cause },
  );
}
