import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import { createSqliteStores, type SqliteOptions } from "@scrollback/store-sqlite";
import type { CliOptions } from "../src/context/command-context.ts";
import type { Environment } from "../src/context/environment.ts";
import { runCli } from "../src/index.ts";

/** The result of a run of the CLI. */
export interface CliResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The differences of a run of the CLI from a run in a pipe. */
export interface RunOptions {
  readonly env?: Environment;
  readonly input?: string | AsyncIterable<string>;
  /** All streams are terminals. */
  readonly isTerminal?: boolean;
  /** Standard input is not a terminal, even if the others are. */
  readonly isPiped?: boolean;
  readonly signal?: AbortSignal;
  readonly adapters?: NonNullable<CliOptions["adapters"]>;
  readonly blobs?: NonNullable<CliOptions["blobs"]>;
  /** Called when a result was written. */
  readonly onResult?: () => void;
}

/** A stream that keeps its input. */
export class Collector extends Writable {
  text = "";
  readonly isTTY: boolean;
  readonly columns = 100;

  readonly #onText: () => void;

  constructor(isTTY: boolean, onText: () => void = () => undefined) {
    super();
    this.isTTY = isTTY;
    this.#onText = onText;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    this.#onText();
    done();
  }
}

/** Runs the CLI in this process. */
export async function run(args: readonly string[], options: RunOptions = {}): Promise<CliResult> {
  const {
    env = {},
    input,
    isTerminal = false,
    isPiped = false,
    signal = new AbortController().signal,
    adapters = {},
    blobs,
  } = options;
  const stdout = new Collector(isTerminal, options.onResult);
  const stderr = new Collector(isTerminal);
  const source = Readable.from(typeof input === "string" ? [input] : (input ?? []));
  const stdin = Object.assign(source, { isTTY: isTerminal && !isPiped });
  const code = await runCli({ args, env, stdin, stdout, stderr, signal, adapters, ...(blobs && { blobs }) });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

/** An empty folder for SQLite databases, which is removed at the end. */
export class Folder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "scrollback-cli-"));

  file(name: string): string {
    return join(this.path, name);
  }

  url(name = "chats"): string {
    return `sqlite:${this.file(`${name}.db`)}`;
  }

  /** The stores of a database, as an application opens them. */
  stores(name = "chats", options: Omit<SqliteOptions, "url"> = {}) {
    return createSqliteStores({ url: this.url(name), synchronous: "normal", ...options });
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** The values of lines of JSON. */
export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}
