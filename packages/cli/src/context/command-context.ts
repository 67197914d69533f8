import { createInterface } from "node:readline/promises";
import type { BlobStorage } from "@scrollback/chats";
import type { Adapter } from "@scrollback/store-core";
import { CommandError, exitCodes, worse } from "../output/exit-codes.ts";
import { Output, type OutputStream } from "../output/output.ts";
import { type Environment, secretsOf, urlOf } from "./environment.ts";
import { redact } from "./redact.ts";

/** The input of a run of the CLI. */
export interface CliOptions {
  /** The arguments, without `node` and the program. */
  readonly args: readonly string[];
  readonly env: Environment;
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  /** Aborting stops the command and leaves all data consistent. */
  readonly signal: AbortSignal;
  /**
   * Adapters by URL scheme, as `openStores` takes them: for names other than the default ones (`tableName`, `keyPrefix`, …), and
   * for adapters of others. Default: none.
   */
  readonly adapters?: Readonly<Record<string, Adapter<unknown>>>;
  /**
   * Where the chats of the first URL store files: the option of their `ChatStore`. The target of a copy or an import stores files
   * itself. Default: in the backend.
   */
  readonly blobs?: BlobStorage;
}

/** Shared by all commands: the streams, the environment, the signal, and the exit code so far. */
export class CommandContext {
  readonly env: Environment;
  readonly output: Output;
  readonly signal: AbortSignal;
  readonly adapters: NonNullable<CliOptions["adapters"]>;
  readonly blobs: CliOptions["blobs"];
  readonly #stdin: CliOptions["stdin"];
  readonly #args: readonly string[];
  #exitCode: number = exitCodes.done;

  constructor({ args, env, stdin, stdout, stderr, signal, adapters = {}, blobs }: CliOptions) {
    this.env = env;
    this.signal = signal;
    this.adapters = adapters;
    this.blobs = blobs;
    this.output = new Output(stdout, stderr);
    this.#stdin = stdin;
    this.#args = args;
  }

  get exitCode(): number {
    return this.#exitCode;
  }

  get stdin(): NodeJS.ReadableStream {
    return this.#stdin;
  }

  /** Records a problem; the worst exit code wins. */
  fail(exitCode: number): void {
    this.#exitCode = worse(this.#exitCode, exitCode);
  }

  /** Foreign text without secrets of URLs and codec keys. */
  redact(text: string): string {
    const arguments_ = this.#args.flatMap((one) =>
      one.startsWith("env:") ? (this.env[one.slice(4)] ?? []) : one,
    );
    const urls = arguments_.filter((one) => /^[a-z][a-z0-9+.-]*:/i.test(one));
    return redact(text, urls, secretsOf(this.env));
  }

  url(argument: string): string {
    return urlOf(argument, this.env);
  }

  /**
   * Asks for confirmation of an action that cannot be undone.
   *
   * @throws CommandError if the answer is no, or without a terminal to ask on.
   */
  async confirm(question: string): Promise<void> {
    if (!this.#stdin.isTTY || !this.output.stderr.isTTY) {
      throw new CommandError(exitCodes.usage, `${question} Without a terminal, add --yes.`);
    }
    const lines = createInterface({ input: this.#stdin, output: this.output.stderr });
    // In raw mode a terminal sends Ctrl-C to its reader; otherwise the process receives a signal.
    const interrupted = new AbortController();
    lines.once("SIGINT", () => interrupted.abort(new CommandError(130, "interrupted; nothing was done")));
    try {
      const signal = AbortSignal.any([this.signal, interrupted.signal]);
      const answer = await lines.question(`${question} [y/N] `, { signal });
      if (/^y(es)?$/i.test(answer.trim())) return;
    } catch (error) {
      if (interrupted.signal.aborted) throw interrupted.signal.reason;
      const isEndOfInput = error instanceof Error && error.name === "AbortError" && !this.signal.aborted;
      if (!isEndOfInput) throw error;
    } finally {
      lines.close();
    }
    throw new CommandError(exitCodes.failed, "nothing was done");
  }
}
