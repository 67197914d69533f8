import { StoreError } from "@scrollback/store-core";

/** The owner of the memories, by Mem0's names. */
export interface Mem0Scope {
  userId?: string;
  agentId?: string;
  appId?: string;
  runId?: string;
}

/** The methods that are called on a Mem0 client; `MemoryClient` of `mem0ai` 3 has them. */
export interface Mem0Client {
  add(messages: { role: string; content: unknown }[], scope: Mem0Scope): Promise<unknown>;
  search(query: string, options: { filters: Record<string, unknown> }): Promise<unknown>;
}

/**
 * Loads the official client.
 *
 * @throws StoreError `UNSUPPORTED` when `mem0ai` is not installed, with the command that installs it.
 */
export async function createMem0Client(apiKey: string, host: string | undefined): Promise<Mem0Client> {
  const { MemoryClient } = await load();
  return new MemoryClient({ apiKey, ...(host !== undefined && { host }) });
}

async function load() {
  try {
    return await import("mem0ai");
  } catch (cause) {
    const isMissing =
      cause instanceof Error && "code" in cause && String(cause.code).endsWith("MODULE_NOT_FOUND");
    if (!isMissing) throw cause;
    const problem = "Mem0Memory: mem0ai is not installed; run: npm install mem0ai, or give a client";
    throw new StoreError("UNSUPPORTED", problem, { cause });
  }
}

/** The memories of a search result, a plain list or one in `results`, in order. */
export function memoriesOf(answer: unknown): string[] {
  const list = Array.isArray(answer) ? answer : (answer as { results?: unknown } | null)?.results;
  if (!Array.isArray(list)) return [];
  return list.flatMap((item) => (typeof item?.memory === "string" ? [item.memory] : []));
}

/**
 * A failure without the client's message: the client's errors quote the server's answer, which may quote memories.
 *
 * @param what the end of the sentence that begins with `Mem0Memory:`.
 */
export function mem0Error(what: string, error: unknown): StoreError {
  if (StoreError.is(error)) return error;
  const { name, errorCode } = (error ?? {}) as { name?: unknown; errorCode?: unknown };
  const status = /^HTTP_(\d{3})$/.exec(String(errorCode))?.[1];
  const kind = [typeof name === "string" ? name : "unknown error", status && `HTTP ${status}`];
  const retryable = status === undefined || status === "429" || status.startsWith("5");
  return new StoreError("UNAVAILABLE", `Mem0Memory: ${what} (${kind.filter(Boolean).join(", ")})`, {
    retryable,
  });
}
