import type { ErrorClassification } from "../driver.ts";
import { type ConnectionFailure, unreachable } from "../unreachable.ts";

/** Classifies errors of a network backend: the part that is common to all such backends. */
export interface ErrorTable {
  /** `UNAVAILABLE`: the same request may succeed later without any change. */
  retryable(problem: string): ErrorClassification;
  /** `UNAVAILABLE` until a login, a permission or a name is changed. The problem says which. */
  permanent(problem: string): ErrorClassification;
  /** `UNSUPPORTED`: this server, or the data stored in it, cannot be used. */
  unsupported(problem: string): ErrorClassification;
  tooLarge(problem: string): ErrorClassification;
  /** A lost or failed connection. See {@link unreachable}. */
  lost(error: unknown, server?: string): ErrorClassification;
  /** Servers that could not be reached, each with its own reason. */
  unreachable(failures: readonly ConnectionFailure[]): ErrorClassification;
  /** Classifies a failure of TLS, most often because the server's certificate is not trusted. Undefined for any other error. */
  certificate(error: unknown): ErrorClassification | undefined;
  /**
   * Classifies Node's errors of sockets, DNS look-ups and TLS, also within the causes of another error. Returns undefined
   * for any other error.
   *
   * @param server `host:port`. Undefined: taken from the error.
   */
  network(error: unknown, server?: string): ErrorClassification | undefined;
}

const certificateCode = /CERT|SELF_SIGNED|ERR_TLS|ERR_SSL|UNABLE_TO/;
/** Error codes that only sockets, DNS look-ups and Node's fetch have, whether or not the error names a system call. */
const networkCode =
  /^(?:E(?:(?:CONN|HOST|NET|ADDR|AI_)[A-Z]+|TIMEDOUT|TIMEOUT|NOTFOUND|PIPE)|UND_ERR_(?:SOCKET|\w+_TIMEOUT))$/;
const networkCall = /^(?:connect|read|write|getaddrinfo|query[A-Z]\w*)$/;

/**
 * Makes the error table of a backend, for an adapter's `classifyError`. Messages begin with the backend's name and never
 * contain the text of the error.
 *
 * @example
 * const { permanent, retryable, network } = errorTable("postgres");
 * const errors = { "28P01": permanent("the password in url is wrong"), "57P03": retryable("the server is starting") };
 * const classifyError = (error: unknown) => errors[codeOf(error)] ?? network(error);
 */
export function errorTable(backend: string): ErrorTable {
  const unavailable = (retryable: boolean) => (problem: string) =>
    ({ code: "UNAVAILABLE", message: `${backend}: ${problem}`, retryable }) as const;
  const permanent = unavailable(false);
  const untrusted = permanent("the server's TLS certificate was refused; see cause");
  const table: ErrorTable = {
    retryable: unavailable(true),
    permanent,
    unsupported: (problem) => ({ code: "UNSUPPORTED", message: `${backend}: ${problem}` }),
    tooLarge: (problem) => ({ code: "TOO_LARGE", message: `${backend}: ${problem}` }),
    lost: (error, server) => unreachable(backend, [{ server, error }]),
    unreachable: (failures) => unreachable(backend, failures),
    certificate: (error) =>
      causes(error).some((cause) => certificateCode.test(codeOf(cause))) ? untrusted : undefined,
    network(error, server) {
      return table.certificate(error) ?? (isNetworkError(error) ? table.lost(error, server) : undefined);
    },
  };
  return table;
}

/** Whether Node could not reach a server or lost the connection to it. */
function isNetworkError(error: unknown): boolean {
  return causes(error).some(
    (cause) => networkCode.test(codeOf(cause)) || networkCall.test(String(Reflect.get(cause, "syscall"))),
  );
}

function codeOf(error: Error): string {
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "string" ? code : "";
}

/** An error and the chain of its causes. */
function causes(error: unknown, found: Error[] = []): Error[] {
  if (!(error instanceof Error) || found.includes(error)) return found;
  found.push(error);
  if (error instanceof AggregateError) for (const one of error.errors) causes(one, found);
  return causes(error.cause, found);
}
