import type { Harness } from "@scrollback/conformance";
import { type DocumentDatabase, DocumentDriver, type StoredMessage } from "../index.ts";

/** A database, and the number of requests that it has sent. */
interface CountedDocuments {
  readonly database: DocumentDatabase;
  /** The requests of this database object alone, counted at its client. */
  requestCount(): number;
}

/** The input of {@link documentHarness}: databases on a new namespace. */
export interface DocumentBackend extends Pick<Harness, "server" | "childProcess" | "secrets" | "close"> {
  /** Opens the namespace with connections of its own. */
  connect(): DocumentDatabase;
  /** See `raw.dump` of {@link Harness}. Default: what the verbs return, which is too little if the database keeps what they do not return. */
  dump?(threadId: string): Promise<string>;
  /** See `raw.dumpIndex` of {@link Harness}. Required if the databases have an index. */
  dumpIndex?(index: string): Promise<string>;
  /** Like {@link Harness.faults}, with databases. */
  readonly faults?: Omit<NonNullable<Harness["faults"]>, "connect"> & { connect(): DocumentDatabase };
  /**
   * Opens the database of the harness' own driver, whose requests are counted. Default: it is of {@link connect}, and each call of a
   * verb is one request. Give it where a verb may send several.
   */
  connectCounted?(): CountedDocuments;
}

/**
 * The harness of a driver over a database of documents, for {@link runConformance}.
 *
 * @example
 * runConformance({ name: "My database", createHarness: async () => documentHarness({ server, connect, childProcess, dumpIndex, close }) });
 */
export function documentHarness(backend: DocumentBackend): Harness {
  const { server, childProcess, secrets, faults, dumpIndex } = backend;
  const { database, requestCount } = backend.connectCounted?.() ?? countVerbs(backend.connect());
  const driver = new DocumentDriver(database);
  const own = backend.connect();
  return {
    driver,
    server,
    connect: () => new DocumentDriver(backend.connect()),
    ...(childProcess && { childProcess }),
    raw: {
      dump: backend.dump ?? ((threadId) => dump(own, threadId)),
      ...(dumpIndex && { dumpIndex }),
      plant: (threadId, sequence, message) => plant(own, threadId, sequence, message),
    },
    requestCount,
    ...(secrets && { secrets }),
    ...(faults && { faults: { ...faults, connect: () => new DocumentDriver(faults.connect()) } }),
    async close() {
      await Promise.all([driver.close(), own.close()]);
      await backend.close();
    },
  };
}

/** A database whose verbs, and those of its index, are counted. */
function countVerbs(counted: DocumentDatabase): CountedDocuments {
  let count = 0;
  const free = ["close", "classifyError"];
  const counting = <T extends object>(target: T): T =>
    new Proxy(target, {
      get(_, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value !== "function") return name === "index" && value ? counting(value) : value;
        return (...request: unknown[]) => {
          if (!free.includes(String(name))) count++;
          return Reflect.apply(value, target, request);
        };
      },
    });
  return { database: counting(counted), requestCount: () => count };
}

async function dump(database: DocumentDatabase, threadId: string): Promise<string> {
  const head = (await database.load(threadId, { primary: true }))?.head;
  const ids = await database.keys(threadId);
  const pages = ids.length > 0 ? await database.read(threadId, ids, { primary: true }) : [];
  const messages = [...pages.flatMap((page) => page.messages), ...(head?.tail ?? []), ...(head?.pins ?? [])];
  return [...(head ? [JSON.stringify(head)] : []), ...ids, ...messages.map(({ text }) => text)].join("\n");
}

/** Replaces a message in the head and in the pages that contain it. */
async function plant(
  database: DocumentDatabase,
  threadId: string,
  sequence: number,
  message: Parameters<Harness["raw"]["plant"]>[2],
): Promise<void> {
  let planted = 0;
  const changed = (messages: readonly StoredMessage[]) =>
    messages.map((one) => {
      if (one.sequence !== sequence) return one;
      planted++;
      return { sequence, ...message } as StoredMessage;
    });
  const ids = await database.keys(threadId);
  for (const page of ids.length > 0 ? await database.read(threadId, ids) : []) {
    if (!page.messages.some((one) => one.sequence === sequence)) continue;
    await database.remove(threadId, [page.id]);
    await database.write(threadId, [{ ...page, messages: changed(page.messages) }]);
  }
  const expected = await database.load(threadId, { primary: true });
  const head = expected?.head;
  // With a new revision, as anybody must who changes a head by hand: other processes may remember this one.
  if (head)
    await database.swap({ threadId, expected, head: { ...head, n: head.n + 1, tail: changed(head.tail) } });
  if (planted === 0) throw new Error(`there is no message ${sequence} in ${threadId}`);
}
