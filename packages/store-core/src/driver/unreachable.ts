import type { ErrorClassification } from "./driver.ts";

/** A server that could not be reached, and the error. */
export interface ConnectionFailure {
  /** `host:port`. Undefined: taken from the error. */
  readonly server: string | undefined;
  /** The error that the client threw. */
  readonly error: unknown;
}

/**
 * Classifies a failed or lost connection, for an adapter's `classifyError`: `UNAVAILABLE`, retryable. The message names
 * each server and the root cause: an error code of the operating system, or `timeout`. It omits the errors' own messages,
 * which may contain secrets.
 *
 * @example
 * unreachable("redis", [{ server: "cache:6379", error }]).message; // redis: could not reach cache:6379 (ECONNREFUSED)
 */
export function unreachable(backend: string, failures: readonly ConnectionFailure[]): ErrorClassification {
  const servers = failures.map(({ server, error }) => `${server ?? serverOf(error)} (${reasonOf(error)})`);
  return {
    code: "UNAVAILABLE",
    retryable: true,
    message: `${backend}: could not reach ${servers.join(", ") || "the server"}`,
  };
}

/** A server as messages name it: `host:port`, with brackets around an IPv6 address. */
export function hostAndPort(host: string, port: number | string): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

function serverOf(error: unknown): string {
  for (const cause of causesOf(error)) {
    const host = Reflect.get(cause, "hostname") ?? Reflect.get(cause, "address");
    const port = Reflect.get(cause, "port");
    if (typeof host === "string") return typeof port === "number" ? hostAndPort(host, port) : host;
  }
  return "the server";
}

/** The error codes of the operating system and of DNS look-ups for a failed connection. */
const systemCode =
  /\bE(?:CONN|HOST|NET|ADDR|DNS|AI_)[A-Z]+|\bE(?:TIMEDOUT|TIMEOUT|NOTFOUND|PIPE|NOENT|ACCES)\b/;

/** How libraries name a timeout, in an error's code, name or message: `TimeoutError`, `timed out`, `DEADLINE_EXCEEDED`. */
const timedOut = /time(?:d[ _-]?)?out|deadline/i;

function reasonOf(error: unknown): string {
  const texts = causesOf(error).map(
    (cause) => `${Reflect.get(cause, "code")} ${cause.name} ${cause.message}`,
  );
  for (const text of texts) {
    const [code] = systemCode.exec(text) ?? [];
    if (code) return code;
  }
  return texts.some((text) => timedOut.test(text)) ? "timeout" : "no connection";
}

/** An error and those below it, the outermost first. */
function causesOf(error: unknown, found: Error[] = []): Error[] {
  if (!(error instanceof Error) || found.includes(error)) return found;
  found.push(error);
  causesOf(error.cause, found);
  if (error instanceof AggregateError) for (const one of error.errors) causesOf(one, found);
  return found;
}
