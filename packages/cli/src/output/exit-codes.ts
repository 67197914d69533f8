import { StoreError, type StoreErrorCode } from "@scrollback/store-core";
import { printableLine } from "./terminal-text.ts";

/** The exit codes of the process. After a signal: 128 plus the signal's number, 130 for Ctrl-C. */
export const exitCodes = Object.freeze({
  /** Everything was done. */
  done: 0,
  /** An unexpected failure, or the answer to a question was no. */
  failed: 1,
  /** Wrong arguments, URL or environment, or an adapter that is not installed. Nothing was done. */
  usage: 2,
  /** A named thread does not exist. */
  notFound: 3,
  /** Unreadable records, copies that differ or are unfinished, or wrong lines or conversations in a file. */
  damaged: 4,
  /** Threads were skipped: their target has other content, they changed meanwhile, do not fit, or have files in another storage. */
  conflict: 5,
  /** The backend could not be reached, or refused to work. */
  unavailable: 6,
  /** The reader of standard output closed it before all was done and reported: 128 plus the number of SIGPIPE. */
  closedPipe: 141,
});

/** The exit codes by priority: if several apply, the first one wins. */
const severity: readonly number[] = [
  exitCodes.unavailable,
  exitCodes.failed,
  exitCodes.closedPipe,
  exitCodes.usage,
  exitCodes.damaged,
  exitCodes.conflict,
  exitCodes.notFound,
];

const byStoreError: Readonly<Record<StoreErrorCode, number>> = {
  INVALID_ARGUMENT: exitCodes.usage,
  INVALID_STATE: exitCodes.usage,
  UNSUPPORTED: exitCodes.usage,
  NOT_FOUND: exitCodes.notFound,
  CORRUPT: exitCodes.damaged,
  CONFLICT: exitCodes.conflict,
  TOO_LARGE: exitCodes.conflict,
  UNAVAILABLE: exitCodes.unavailable,
  ABORTED: exitCodes.failed,
  CLOSED: exitCodes.failed,
};

/** A failure whose message is shown to the user unchanged. It contains no secret. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: number;

  constructor(exitCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** @throws CommandError that names the file for an error of the file system, else the error itself. */
export function unreadableFile(file: string, error: unknown): never {
  const { code, syscall } = Object(error) as NodeJS.ErrnoException;
  if (code === undefined || syscall === undefined) throw error;
  throw new CommandError(exitCodes.usage, `${printableLine(file)}: the file cannot be read (${code})`, {
    cause: error,
  });
}

/** @throws CommandError that names a line of a file. */
export function refuseLine(file: string, line: number, problem: string): never {
  throw new CommandError(exitCodes.damaged, `${printableLine(file)}:${line}: ${printableLine(problem)}`);
}

/** The reason of the abort that a signal such as SIGINT causes. */
export class Interruption extends Error {
  override readonly name = "Interruption";
  readonly exitCode: number;

  constructor(signalName: string, signalNumber: number) {
    super(`interrupted by ${signalName}`);
    this.exitCode = 128 + signalNumber;
  }
}

/** The exit code for the error of a command. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CommandError || error instanceof Interruption) return error.exitCode;
  return StoreError.is(error) ? byStoreError[error.code] : exitCodes.failed;
}

/** The more informative of two exit codes. */
export function worse(one: number, other: number): number {
  return severity.find((code) => code === one || code === other) ?? exitCodes.done;
}
