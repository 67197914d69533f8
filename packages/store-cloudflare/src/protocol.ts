import { StoreError } from "@scrollback/store-core";
import {
  type CommitRequest,
  type Driver,
  type EntryIndex,
  type ErrorClassification,
  errorTable,
} from "@scrollback/store-core/driver";

/** Sends a request to a Durable Object, and returns its reply. */
export type Send = (request: Request) => Promise<Response>;

/**
 * What the request of a verb may have that is not sent: a signal, a time of this process, and that the operation is new, because a
 * request may arrive twice.
 */
export type Unsendable = Partial<Pick<CommitRequest, "signal" | "sendBefore" | "isNewOperation">>;

/** A verb of a driver, or of its index: the path of a request. */
export type Verb =
  | "commit"
  | "read"
  | "delete"
  | "list"
  | "setup"
  | Exclude<keyof EntryIndex, "nearestEntries">;

interface RemoteFailure extends ErrorClassification {
  readonly cause: string;
}

/** The body of a reply, as JSON. */
type Reply<T> = { readonly value: T; readonly error?: undefined } | { readonly error: RemoteFailure };

/** The body of the request of a verb. */
export function bodyOf({ signal, sendBefore, isNewOperation, ...request }: Unsendable): string {
  return JSON.stringify({
    ...request,
    ...(sendBefore !== undefined && { sendWithinMs: sendBefore - performance.now() }),
  });
}

/**
 * Returns the value of a reply, or throws its error.
 *
 * @throws StoreError `UNAVAILABLE` for another response than those of {@link serve}; retryable if its status says that the server failed.
 */
export async function readReply<T>(response: Response): Promise<T> {
  const reply = await replyOf<T>(response);
  if (!reply.error) return reply.value;
  const { code, message, isMissing, ...options } = reply.error;
  throw Object.assign(new StoreError(code, message, options), { isMissing });
}

async function replyOf<T>(response: Response): Promise<Reply<T>> {
  const reply: unknown = await response.json().catch((error) => {
    if (!(error instanceof SyntaxError)) throw error;
  });
  const { value, error } = Object(reply);
  const isReply = typeof error?.code === "string" ? typeof error.message === "string" : value !== undefined;
  if (isReply) return reply as Reply<T>;
  const message = `durable-object: send gave a response of status ${response.status} that serveDurableObjectStores did not make`;
  throw new StoreError("UNAVAILABLE", message, { retryable: response.status >= 500 });
}

/** Executes the requests of a `RemoteDriver`: the body of each is the request of one verb. */
export function serve(driver: Driver, index: EntryIndex): Send {
  const verbs: Readonly<Record<Verb, (request: never) => unknown>> = {
    commit: (request) => driver.commit(request),
    read: (request) => driver.read(request),
    delete: (request) => driver.delete(request),
    list: (request) => driver.list(request),
    setup: () => driver.setup?.(),
    insertEntry: (request) => index.insertEntry(request),
    updateEntry: (request) => index.updateEntry(request),
    removeEntry: (request) => index.removeEntry(request),
    entriesOf: (request) => index.entriesOf(request),
    listEntries: (request) => index.listEntries(request),
    listIndexes: (request) => index.listIndexes(request),
  };
  return async (received) => {
    const verb = new URL(received.url).pathname.slice(1);
    const body = await receivedBody(received);
    if (!body) return Response.json({ error: notARequest }, { status: 400 });
    const { sendWithinMs, ...rest } = body;
    const request = {
      ...rest,
      // JSON has no infinity.
      ...(rest.limit === null && { limit: Number.POSITIVE_INFINITY }),
      ...(sendWithinMs !== undefined && { sendBefore: performance.now() + sendWithinMs }),
    };
    try {
      if (!Object.hasOwn(verbs, verb))
        throw new StoreError("UNSUPPORTED", `${verb} is not a verb of a driver`);
      // JSON leaves out what is undefined, as the outcome of `setup`.
      return Response.json({ value: (await verbs[verb as Verb](request as never)) ?? null });
    } catch (error) {
      return Response.json({ error: { ...classified(driver, error), cause: String(error) } });
    }
  };
}

const notARequest: RemoteFailure = {
  code: "INVALID_ARGUMENT",
  message: "durable-object: the body is not a request of these stores; pass on the request that send gets",
  cause: "the body is not an object in JSON",
};

interface Body {
  readonly sendWithinMs?: number;
  readonly limit?: number | null;
}

/** The request of a verb; undefined if the body is not an object in JSON. */
async function receivedBody(received: Request): Promise<Body | undefined> {
  const body: unknown = await received.json().catch((error) => {
    if (!(error instanceof SyntaxError)) throw error;
  });
  return typeof body === "object" && body !== null ? body : undefined;
}

function classified(driver: Driver, error: unknown): ErrorClassification {
  const { permanent } = errorTable(driver.capabilities.backend);
  if (!StoreError.is(error)) return driver.classifyError(error) ?? permanent("the backend failed; see cause");
  const { code, message, retryable, sequence } = error;
  return { code, message, retryable, ...(sequence !== undefined && { sequence }) };
}
