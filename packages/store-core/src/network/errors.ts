import type { ErrorClassification } from "../driver.ts";
import { type ConnectionFailure, unreachable } from "../unreachable.ts";

/** Classifies the errors of one backend: the part that is the same for every backend over a network. */
export interface ErrorTable {
  /** `UNAVAILABLE`: the same request may succeed later without anybody changing anything. */
  retryable(problem: string): ErrorClassification;
  /** `UNAVAILABLE` until somebody changes something: a login, a permission, a name. The problem says what. */
  permanent(problem: string): ErrorClassification;
  /** `UNSUPPORTED`: this server, or what is stored in it, cannot be used. */
  unsupported(problem: string): ErrorClassification;
  tooLarge(problem: string): ErrorClassification;
  /** A lost connection or one that failed. See {@link unreachable}. */
  lost(error: unknown, server?: string): ErrorClassification;
  /** A server that could not be reached, each with its own reason. */
  unreachable(failures: readonly ConnectionFailure[]): ErrorClassification;
  /**
   * What Node's own errors of sockets, name look-ups and TLS mean, also deep in the causes of another error. Undefined: it is
   * none of them.
   *
   * @param server `host:port`. Undefined: as far as the error says it.
   */
  network(error: unknown, server?: string): ErrorClassification | undefined;
}

const certificateCode = /CERT|SELF_SIGNED|ERR_TLS|ERR_SSL|UNABLE_TO/;
/** What only sockets and look-ups fail with, whether the error names a system call or not. */
const networkCode = /^E(?:(?:CONN|HOST|NET|ADDR|AI_)[A-Z]+|TIMEDOUT|TIMEOUT|NOTFOUND|PIPE)$/;
const networkCall = /^(?:connect|read|write|getaddrinfo|query[A-Z]\w*)$/;

/**
 * The table of a backend's errors, for an adapter's `classifyError`. Messages begin with the backend's name and never show
 * the text of the error itself.
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
    network(error, server) {
      if (isCertificateError(error)) return untrusted;
      return isNetworkError(error) ? table.lost(error, server) : undefined;
    },
  };
  return table;
}

/** Whether TLS failed, most often because the server's certificate is not trusted. */
export function isCertificateError(error: unknown): boolean {
  return causes(error).some((cause) => certificateCode.test(codeOf(cause)));
}

/** Whether Node could not reach a server or lost the connection to it. */
export function isNetworkError(error: unknown): boolean {
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
