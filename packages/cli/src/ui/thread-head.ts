import type { StoreFactory, ThreadPage } from "@scrollback/store-core";
import { isUnfinishedCopy } from "@scrollback/store-core/internal";
import { skippingCorruptRecords } from "../context/open-backend.ts";
import { headProblem, kindOfThread } from "../layers.ts";
import { unfinishedCopy } from "../threads/thread-work.ts";
import type { ThreadHead, ThreadLink } from "./api-types.ts";
import { siblingsIn } from "./siblings.ts";
import { cutLine, cutValue, decodeName } from "./texts.ts";
import { rowOf } from "./thread-lists.ts";

/** A page of names of namespaces: a LangGraph thread has one for each subgraph. */
const MAX_NAMESPACES = 1_000;

/** A thread without its messages. */
export async function readHead(
  stores: StoreFactory<unknown>,
  threadId: string,
  signal: AbortSignal,
): Promise<ThreadHead> {
  const problems: string[] = [];
  const page = await skippingCorruptRecords(
    (error) => problems.push(error.message),
    () => stores.open(threadId).read({ limit: 0, signal }),
  );
  const { revision, count, createdAt, updatedAt, expiresAt, metadata } = page;
  if (revision === null)
    return { ...rowOf({ threadId, count }, undefined), revision, links: [], problems: [] };
  const problem = isUnfinishedCopy(metadata) ? unfinishedCopy.problems?.[0] : headProblem(threadId, page);
  if (problem !== undefined && problems.length === 0) problems.push(problem);
  const bytes = await sizeOf(stores, threadId, signal);
  return {
    ...rowOf({ threadId, metadata, count, ...(updatedAt !== undefined && { updatedAt }) }, undefined),
    revision,
    ...(createdAt !== undefined && { createdAt }),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(bytes !== undefined && { bytes }),
    ...(metadata !== undefined && { metadata: cutValue(metadata) }),
    links: [
      ...siblingsIn(threadId, metadata).map(({ link }) => link),
      ...(await logsOf(stores, threadId, page, signal)),
    ],
    problems: problems.map(cutLine),
  };
}

/** The stored size, if the backend knows it. */
async function sizeOf(stores: StoreFactory<unknown>, threadId: string, signal: AbortSignal) {
  const { threads } = await skippingCorruptRecords(
    () => undefined,
    () => stores.listThreads({ prefix: threadId, limit: 10, sizes: true, signal }),
  );
  return threads.find((one) => one.threadId === threadId)?.bytes;
}

/** The threads with the checkpoints of a LangGraph thread, one for each namespace; of such a thread, that of all namespaces. */
async function logsOf(
  stores: StoreFactory<unknown>,
  threadId: string,
  { metadata }: Pick<ThreadPage<unknown>, "metadata">,
  signal: AbortSignal,
): Promise<ThreadLink[]> {
  const kind = kindOfThread(threadId, metadata);
  if (kind === "checkpoints") {
    const of = threadId.replace(/:log:([^:]*):[^:]*$/, ":thread:$1");
    return [{ threadId: of, label: "all namespaces of this LangGraph thread" }];
  }
  if (kind !== "LangGraph thread") return [];
  const logs = threadId.replace(/:thread:([^:]*)$/, ":log:$1:");
  const { threads } = await skippingCorruptRecords(
    () => undefined,
    () => stores.listThreads({ prefix: logs, limit: MAX_NAMESPACES, signal }),
  );
  return threads.map((log) => {
    const namespace = decodeName(log.threadId.slice(logs.length));
    const label = cutLine(`checkpoints of ${namespace === "" ? "the graph" : `namespace ${namespace}`}`);
    return { threadId: log.threadId, label };
  });
}
