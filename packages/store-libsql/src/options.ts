import { type Client, createClient } from "@libsql/client";
import type { ChatMessage, StoreOptions } from "@scrollback/store-core";
import {
  type Check,
  checkFactoryOptions,
  clientFrom,
  hasMethods,
  invalid,
  REQUEST_TIMEOUT_MS,
} from "@scrollback/store-core/driver";
import { isTablePrefix } from "@scrollback/store-core/internal";

/** Options of `createLibsqlStores`: either `url` or `client`, and the options of every backend. `setup` is true by default. */
export interface LibsqlStoreOptions<M = ChatMessage> extends StoreOptions<M> {
  /**
   * A file: `libsql:` or `file:` and its path, which the client of libSQL reads as that of a URL; `libsql::memory:` is a database in
   * memory that ends with the factory. Or a server: `libsql://host?authToken=…`, `https://…`, `wss://…`, `http://…` or `ws://…`.
   */
  url?: string;
  /** A client of `@libsql/client`. The factory never closes it. Its busy timeout should be 0: libSQL waits by blocking the event loop. */
  client?: Client;
  /** The prefix of the table names: lower-case letters, digits and `_`, not starting with a digit. Default `scrollback_`. */
  tablePrefix?: string;
}

/** Where the database is. */
export interface LibsqlSource {
  /** Opens the client, when a call needs it: that of a file reads the file. */
  open(): Client;
  /** Whether the factory opened the client, and closes it. */
  readonly owned: boolean;
  readonly place: "memory" | "file" | "server";
  /** Undefined for a file, and for a client that was given. */
  readonly server?: { readonly address: string; readonly port: number };
}

const URL_FORM =
  '"libsql:chats.db" or "file:chats.db" for a file, "libsql::memory:", or "libsql://host?authToken=…" for a server';

const isUrl: Check = (value) => {
  if (typeof value !== "string" || !/^(?:libsql:|file:|(?:https?|wss?):\/\/)./.test(value))
    return `must read ${URL_FORM}`;
  // The client's errors would show them.
  return /^\w+:\/\/[^/?#]*@/.test(value)
    ? "must have the token as ?authToken=…, and no user name or password"
    : undefined;
};

const optionChecks: Readonly<Record<Exclude<keyof LibsqlStoreOptions, keyof StoreOptions>, Check>> = {
  url: isUrl,
  client: hasMethods("execute", "batch", "transaction"),
  tablePrefix: isTablePrefix("sqlite_", "libsql_"),
};

/** @throws StoreError `INVALID_ARGUMENT` that names the option and the fix, and never shows the URL. */
export function parseOptions<M>(options: LibsqlStoreOptions<M>): {
  source: LibsqlSource;
  tablePrefix: string;
  storeOptions: StoreOptions<M>;
} {
  checkFactoryOptions("createLibsqlStores", options, optionChecks);
  const { url, client, tablePrefix = "scrollback_", setup = true, ...storeOptions } = options ?? {};
  const given = client && { open: () => client, owned: false, place: placeOf(client) };
  const { client: source } = clientFrom<LibsqlSource>("createLibsqlStores", { url, client: given }, sourceOf);
  return { source, tablePrefix, storeOptions: { setup, ...storeOptions } };
}

const placeOf = ({ protocol }: Client): LibsqlSource["place"] => (protocol === "file" ? "file" : "server");

function sourceOf(url: string): LibsqlSource {
  const path = /^(?:libsql:(?!\/\/)|file:)(.+)$/s.exec(url)?.[1];
  if (path !== undefined) {
    // With one connection, its pragmas apply to every call, and a database in memory is one.
    const open = () => createClient({ url: `file:${path}`, concurrency: 1 });
    return { open, owned: true, place: path === ":memory:" ? "memory" : "file" };
  }
  try {
    const client = createClient({ url, fetch: fetchInTime });
    return { open: () => client, owned: true, place: "server", server: serverOf(url) };
  } catch {
    // The client's error may show the URL.
    return invalid(`createLibsqlStores: url is rejected by @libsql/client; it must read ${URL_FORM}`);
  }
}

function serverOf(url: string): Required<LibsqlSource>["server"] {
  const { protocol, hostname, port } = new URL(url);
  return { address: hostname, port: Number(port || (/^(?:http|ws):/.test(protocol) ? 80 : 443)) };
}

/** Without a timeout, a request to a server that hangs would never end. */
function fetchInTime(request: Request): Promise<Response> {
  return fetch(request, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
}
