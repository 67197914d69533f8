import { StoreError, type StoreFactory } from "@scrollback/store-core";
import { isUnfinishedCopy } from "@scrollback/store-core/internal";
import type { CommandContext } from "../context/command-context.ts";
import { skippingCorruptRecords } from "../context/open-backend.ts";
import { CommandError, exitCodes } from "../output/exit-codes.ts";
import { countOf, shownCount } from "../output/figures.ts";
import { printableId } from "../output/terminal-text.ts";
import { hasIndex, listIfMissing } from "./listed-threads.ts";
import { digestThread } from "./thread-digest.ts";
import {
  type ThreadOutcome,
  unfinishedCopy,
  type WorkItem,
  type WorkOptions,
  workThrough,
} from "./thread-work.ts";

/** The options of {@link copyThreads}. */
export interface CopyOptions extends Pick<WorkOptions, "concurrency" | "report"> {
  readonly label: string;
  /** The word for a copied thread. */
  readonly done: string;
  readonly resume: string;
  /** Copies the readable records of a thread with unreadable ones. */
  readonly skipCorrupt: boolean;
  /** Compares all threads afterwards. */
  readonly verify: boolean;
}

/** Copies threads from one factory to another under the same ids, several concurrently. */
export async function copyThreads(
  context: CommandContext,
  source: StoreFactory<unknown>,
  target: StoreFactory<unknown>,
  threads: readonly WorkItem[],
  options: CopyOptions,
): Promise<void> {
  const { concurrency, report, label, resume } = options;
  const common = { concurrency, report, readsMessages: true };
  let listed = 0;
  await workThrough(context, threads, { ...common, label, resume }, async (thread, advance) => {
    const made = await copyOne(context, source, target, thread, advance, options);
    const isThere = made.messages !== undefined;
    if (isThere && thread.isListed && (await listIfMissing(target, thread.threadId, context.signal)))
      listed++;
    return made;
  });
  if (listed > 0) context.output.note(`${countOf(listed, "thread")} listed again in the target`);
  if (!hasIndex(target) && threads.some(({ isListed }) => isListed))
    context.output.note(
      "the target has no index, so the lists of chats, sessions and other layers are not in it",
    );
  if (!options.verify) return;
  const again = { ...common, label: "comparing", resume: "Run the same command again to compare." };
  await workThrough(context, threads, again, (thread) => compareOne(context, source, target, thread));
}

async function copyOne(
  { signal, output }: CommandContext,
  source: StoreFactory<unknown>,
  target: StoreFactory<unknown>,
  { threadId, count, expiresAt }: WorkItem,
  advance: (messages: number) => void,
  { done, skipCorrupt }: CopyOptions,
): Promise<ThreadOutcome> {
  if (isExpired(expiresAt)) return { outcome: "expired" };
  const skipped = new Set<string>();
  let reported = 0;
  const ttl = expiresAt === undefined ? {} : { ttlMs: Math.max(1, Math.ceil(expiresAt - Date.now())) };
  const copy = () =>
    source.copyThread(threadId, threadId, {
      target,
      signal,
      ...ttl,
      onProgress: ({ copied }) => {
        advance(Math.max(0, Math.min(copied, count) - reported));
        reported = Math.max(reported, Math.min(copied, count));
      },
    });
  const reading = <T>(call: () => Promise<T>) =>
    skipCorrupt ? skippingCorruptRecords((error) => skipped.add(error.message), call) : call();
  // A copy without messages does not tell whether it was made now.
  const wasThere = count > 0 || (await target.open(threadId).read({ limit: 0, signal })).revision !== null;
  const made = await reading(copy).catch((error: unknown) => {
    if (StoreError.is(error, "CONFLICT")) return error;
    if (reported > 0) {
      const messages = `${shownCount(reported)} of ${countOf(count, "message")}`;
      output.note(`${unfinishedCopy.outcome}: ${printableId(threadId)}: ${messages}`);
    }
    throw isForeign(error) ? otherInstallation(error) : error;
  });
  const isConflict = StoreError.is(made);
  if (isConflict && (await isUnfinished(source, threadId, signal))) return unfinishedCopy;
  if (!isConflict && made.revision === null) return { outcome: "gone meanwhile" };
  const messages = isConflict ? 0 : made.copied;
  // An earlier copy may be finished, and one of the threads changed since.
  if (messages === 0 && !(await reading(() => isEqual(source, target, threadId, signal)))) {
    const problem = isConflict
      ? `${made.message}${(await isUnfinished(target, threadId, signal)) ? "; the target has an unfinished copy: delete it, then copy again" : ""}`
      : "source or target was written to after the copy, which is left as it is";
    const outcome = isConflict ? "conflict" : "changed since";
    return { outcome, problems: [problem], exitCode: exitCodes.conflict };
  }
  if (skipped.size > 0)
    return { outcome: `${done} in part`, messages, problems: [...skipped], exitCode: exitCodes.damaged };
  return { outcome: messages > 0 || !wasThere ? done : "there already", messages };
}

async function compareOne(
  { signal }: CommandContext,
  source: StoreFactory<unknown>,
  target: StoreFactory<unknown>,
  { threadId, expiresAt }: WorkItem,
): Promise<ThreadOutcome> {
  if (isExpired(expiresAt)) return { outcome: "expired" };
  if (await isEqual(source, target, threadId, signal)) return { outcome: "equal" };
  return {
    outcome: "different",
    problems: ["source and target do not hold the same"],
    exitCode: exitCodes.damaged,
  };
}

function isExpired(expiresAt: number | undefined): boolean {
  return expiresAt !== undefined && expiresAt <= Date.now();
}

async function isEqual(
  source: StoreFactory<unknown>,
  target: StoreFactory<unknown>,
  threadId: string,
  signal: AbortSignal,
): Promise<boolean> {
  const digests = [source, target].map((stores) => digestThread(stores, threadId, signal));
  const [one, other] = await Promise.all(digests);
  return one === other;
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
