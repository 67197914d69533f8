import type { ErrorClassification } from "./driver.ts";

/** A server to which there is no connection, and why. */
export interface ConnectionFailure {
  /** `host:port`. Undefined: as far as the error says it. */
  readonly server: string | undefined;
  /** What the client threw. */
  readonly error: unknown;
}

/**
 * What a failed or lost connection means, for an adapter's `classifyError`: `UNAVAILABLE`, retryable, with a message that
 * names each server and the root cause, a code of the operating system or `timeout`. The errors' own messages, which may hold
 * secrets, are not shown.
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

function serverOf(error: unknown): string {
  for (const cause of causesOf(error)) {
    const host = Reflect.get(cause, "hostname") ?? Reflect.get(cause, "address");
    const port = Reflect.get(cause, "port");
    if (typeof host === "string") return typeof port === "number" ? `${host}:${port}` : host;
  }
  return "the server";
}

/** The codes of the operating system and of look-ups that say why there is no connection. */
const systemCode =
  /\bE(?:CONN|HOST|NET|ADDR|DNS|AI_)[A-Z]+|\bE(?:TIMEDOUT|TIMEOUT|NOTFOUND|PIPE|NOENT|ACCES)\b/;

function reasonOf(error: unknown): string {
  const texts = causesOf(error).map(
    (cause) => `${Reflect.get(cause, "code")} ${cause.name} ${cause.message}`,
  );
  for (const text of texts) {
    const [code] = systemCode.exec(text) ?? [];
    if (code) return code;
  }
  return texts.some((text) => /time(?:d ?)?out/i.test(text)) ? "timeout" : "no connection";
}

/** An error and those below it, the outermost first. */
function causesOf(error: unknown, found: Error[] = []): Error[] {
  if (!(error instanceof Error) || found.includes(error)) return found;
  found.push(error);
  causesOf(error.cause, found);
  if (error instanceof AggregateError) for (const one of error.errors) causesOf(one, found);
  return found;
}
