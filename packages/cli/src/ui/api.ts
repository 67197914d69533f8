import type { BlobStorage } from "@scrollback/chats";
import { StoreError, type StoreFactory } from "@scrollback/store-core";
import { verifyThread } from "../commands/verify.ts";
import { encodeText } from "../formats/entry.ts";
import { countOf } from "../output/figures.ts";
import { FileCheck } from "../threads/file-work.ts";
import type { Verification } from "./api-types.ts";
import { waitForChange } from "./changes.ts";
import { beginningOf, readFile, readMessage, readMessages } from "./messages.ts";
import { cutLine } from "./texts.ts";
import { readHead } from "./thread-head.ts";
import { listChats, listOwners, listThreads } from "./thread-lists.ts";

/** What the inspector reads from. */
export interface Source {
  readonly stores: StoreFactory<unknown>;
  readonly blobs: BlobStorage | undefined;
}

/** The answer to a request: JSON, text as it is stored, or a file. */
export type Answer =
  | { readonly json: unknown }
  | { readonly text: string }
  | { readonly content: Uint8Array; readonly mediaType: string };

type Route = (source: Source, query: Query, signal: AbortSignal) => Promise<Answer>;

/** The query of a request. */
class Query {
  readonly #parameters: URLSearchParams;

  constructor(parameters: URLSearchParams) {
    this.#parameters = parameters;
  }

  text(name: string): string {
    return this.#parameters.get(name) ?? "";
  }

  /** @throws StoreError `INVALID_ARGUMENT` without it. */
  required(name: string): string {
    return this.text(name) || refuse(`${name} is missing`);
  }

  optional(name: string): string | undefined {
    return this.text(name) || undefined;
  }

  /** @throws StoreError `INVALID_ARGUMENT` unless it is an integer from `min` to `max`. */
  integer(name: string, min: number, max: number): number {
    const text = this.required(name);
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    return value >= min && value <= max ? value : refuse(`${name} must be an integer from ${min} to ${max}`);
  }

  list(signal: AbortSignal) {
    return { query: this.text("query"), cursor: this.optional("cursor"), signal };
  }
}

/** What each path reads. None writes: a route gets no more than what a read needs. */
const routes: Readonly<Record<string, Route>> = {
  "/api/threads": async ({ stores }, query, signal) => ({
    json: await listThreads(stores, { prefix: query.text("prefix"), ...query.list(signal) }),
  }),
  "/api/owners": async ({ stores }, query, signal) => ({
    json: await listOwners(stores, query.list(signal)),
  }),
  "/api/chats": async ({ stores }, query, signal) => {
    const isArchived = query.text("archived") === "true";
    const owner = query.required("owner");
    return { json: await listChats(stores, { owner, isArchived, ...query.list(signal) }) };
  },
  "/api/thread": async ({ stores }, query, signal) => ({
    json: await readHead(stores, query.required("id"), signal),
  }),
  "/api/messages": async ({ stores }, query, signal) => {
    const [before, after] = [query.optional("before"), query.optional("after")];
    const first = query.optional("first");
    const from = first === undefined ? after : beginningOf(first);
    const options = {
      ...{ limit: query.integer("limit", 1, 200), signal },
      ...(before !== undefined && { before }),
      ...(from !== undefined && { after: from }),
    };
    return { json: await readMessages(stores, query.required("id"), options) };
  },
  "/api/changes": async ({ stores }, query, signal) => ({
    json: { revision: await waitForChange(stores, query.required("id"), query.text("revision"), signal) },
  }),
  "/api/raw": async ({ stores }, query, signal) => {
    const message = await messageOf(stores, query, signal);
    return { text: encodeText(message) };
  },
  "/api/metadata": async ({ stores }, query, signal) => {
    const { metadata } = await stores.open(query.required("id")).read({ limit: 0, signal });
    return { text: metadata === undefined ? "" : encodeText(metadata) };
  },
  "/api/file": async ({ stores, blobs }, query, signal) => {
    const message = await messageOf(stores, query, signal);
    const index = query.integer("part", 0, 100_000);
    const file = await readFile(stores, query.required("id"), message, index, { blobs, signal });
    return file ?? notFound("the file does not exist");
  },
  "/api/verify": async ({ stores, blobs }, query, signal) => {
    const files = new FileCheck(stores, { blobs, signal });
    const thread = { threadId: query.required("id"), count: 0 };
    const { outcome, messages, problems = [] } = await verifyThread({ signal }, stores, files, thread);
    const left =
      files.unchecked > 0 ? [`not checked: ${countOf(files.unchecked, "file")} in another storage`] : [];
    const json: Verification = {
      outcome,
      ...(messages !== undefined && { messages }),
      problems: [...problems, ...left].map(cutLine),
    };
    return { json };
  },
};

/** Answers a request; undefined for an unknown path. */
export async function answer(source: Source, url: URL, signal: AbortSignal): Promise<Answer | undefined> {
  const route = Object.hasOwn(routes, url.pathname) ? routes[url.pathname] : undefined;
  return await route?.(source, new Query(url.searchParams), signal);
}

async function messageOf(stores: StoreFactory<unknown>, query: Query, signal: AbortSignal): Promise<unknown> {
  const sequence = query.integer("sequence", 1, Number.MAX_SAFE_INTEGER);
  const revision = query.required("revision");
  const message = await readMessage(stores, query.required("id"), { revision, sequence, signal });
  return message ?? notFound("the message does not exist any more");
}

function refuse(problem: string): never {
  throw new StoreError("INVALID_ARGUMENT", problem);
}

function notFound(problem: string): never {
  throw new StoreError("NOT_FOUND", problem);
}
