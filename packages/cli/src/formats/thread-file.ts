import { createHash } from "node:crypto";
import { formatRecord, kindOf } from "@scrollback/store-core";
import { anyMessageTraits } from "../open-backend.ts";
import { decodeValue } from "./entry.ts";

/** A message of a file: when it was written, and its text as `jsonCodec` writes it. */
export interface FileMessage {
  readonly createdAt: number;
  readonly text: string;
}

/** A thread that stands in a file, whose lines were checked. */
export interface FileThread {
  readonly threadId: string;
  readonly count: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt?: number;
  /** Text as `jsonCodec` writes it. */
  readonly metadata?: string;
  /** Stands for all of the thread's content. */
  readonly digest: string;
  /** The line where the thread begins. */
  readonly line: number;
  /** The messages from one on, counted from 0. */
  messages(from: number, signal: AbortSignal): AsyncIterable<FileMessage>;
}

/** What is wrong with a line. */
export interface LineProblem {
  readonly line: number;
  readonly problem: string;
}

/** A file's threads, and what is wrong with it. With problems nothing may be taken from it. */
export interface ThreadFile {
  readonly threads: readonly FileThread[];
  readonly problems: readonly LineProblem[];
}

/** No more problems than this are looked for. */
export const MAX_PROBLEMS = 20;

/** Makes the digest of a thread's content, part by part. */
export class ContentDigest {
  readonly #hash = createHash("sha256");

  add(...parts: readonly (string | number | undefined)[]): void {
    // As JSON, so that no two lists read alike.
    this.#hash.update(JSON.stringify(parts));
  }

  digest(): string {
    return this.#hash.digest("base64url");
  }
}

/** A message as a driver gives it. */
export function recordOf({ createdAt, text }: FileMessage): string {
  return formatRecord(kindOf(decodeValue(text), anyMessageTraits), createdAt, text);
}
