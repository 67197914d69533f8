import { once } from "node:events";
import { styleText } from "node:util";
import { CommandError, exitCodes } from "./exit-codes.ts";
import { jsonLine } from "./terminal-text.ts";

/** A stream to write to: standard output, standard error, or a stream of a test. */
export type OutputStream = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly errored?: Error | null;
};

/** Writes lines: results to standard output, everything else to standard error. Waits for a slower reader. */
export class Output {
  readonly #stdout: OutputStream;
  readonly stderr: OutputStream;
  #hasStatus = false;

  constructor(stdout: OutputStream, stderr: OutputStream) {
    this.#stdout = stdout;
    this.stderr = stderr;
  }

  /** Writes a line of the result. */
  async line(text: string): Promise<void> {
    await this.write(`${text}\n`);
  }

  /** Writes a value as a line of JSON. */
  async json(value: unknown): Promise<void> {
    await this.line(jsonLine(value));
  }

  /** Writes text of the result. @throws the {@link outputError} of the stream. */
  async write(text: string): Promise<void> {
    this.#assertWritable();
    if (this.#stdout.write(text)) return;
    await once(this.#stdout, "drain").catch((error) => {
      throw outputError(error);
    });
  }

  /** Returns when the whole result is written. @throws the {@link outputError} of the stream. */
  async flush(): Promise<void> {
    this.#assertWritable();
    await new Promise<void>((resolve, reject) => {
      this.#stdout.write("", (error) => (error ? reject(outputError(error)) : resolve()));
    });
  }

  /** Writes text of the result without waiting. */
  text(text: string): void {
    this.#stdout.write(text);
  }

  /** Writes a line that is not part of the result. */
  note(text: string): void {
    this.status("");
    this.stderr.write(`${text}\n`);
  }

  /** Shows a line that the next one replaces, only on a terminal. An empty text removes the line. */
  status(text: string): void {
    if (this.stderr.isTTY && (text !== "" || this.#hasStatus)) this.stderr.write(`\r\u001b[K${text}`);
    this.#hasStatus = text !== "";
  }

  /** A text of the result in a style, if the results go to a terminal that supports it. */
  style(format: "bold" | "dim" | "cyan" | "green" | "yellow" | "magenta", text: string): string {
    return this.#stdout.isTTY ? styleText(format, text, { stream: this.#stdout }) : text;
  }

  #assertWritable(): void {
    if (!this.#stdout.writable) throw outputError(this.#stdout.errored ?? closedPipe());
  }
}

function closedPipe(): Error {
  return Object.assign(new Error("standard output was closed"), { code: "EPIPE" });
}

/** Whether an error means that the reader has closed the output, as with `| head`. */
export function isClosedPipe(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EPIPE";
}

/** The error of an output, for the user. A closed pipe stays as it is. */
export function outputError(error: Error): Error {
  if (isClosedPipe(error)) return error;
  const { code = error.name } = error as NodeJS.ErrnoException;
  return new CommandError(exitCodes.failed, `standard output cannot be written (${code})`, { cause: error });
}
