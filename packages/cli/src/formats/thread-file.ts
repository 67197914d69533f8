import { createHash } from "node:crypto";
import type { MessageRecord } from "@scrollback/store-core/driver";
import { kindOf } from "@scrollback/store-core/internal";
import { anyMessageTraits } from "../context/open-backend.ts";
import { decodeValue } from "./entry.ts";
import type { StorableCheck } from "./storable.ts";

/** A message of a file: its time, and its text in the format of `jsonCodec`. */
export interface FileMessage {
  readonly createdAt: number;
  readonly text: string;
}

/** A thread in a file, whose lines were checked. */
export interface FileThread {
  readonly threadId: string;
  readonly count: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly expiresAt?: number;
  /** Text in the format of `jsonCodec`. */
  readonly metadata?: string;
  /** Whether a layer lists it, as its metadata says. */
  readonly isListed?: boolean;
  /** A digest of the thread's complete content. */
  readonly digest: string;
  /** The first line of the thread. */
  readonly line: number;
  /** The messages from an index on (first: 0). */
  messages(from: number, signal: AbortSignal): AsyncIterable<FileMessage>;
}

/** A file to read. */
export interface FileToRead {
  readonly path: string;
  /** Checks each message and the metadata of each thread. */
  readonly check: StorableCheck;
  readonly signal: AbortSignal;
}

/** The problem of a line. */
export interface LineProblem {
  readonly line: number;
  readonly problem: string;
}

/** A file's threads, and its problems. A file with problems must not be imported. */
export interface ThreadFile {
  readonly threads: readonly FileThread[];
  readonly problems: readonly LineProblem[];
}

/** The maximum number of reported problems. */
export const MAX_PROBLEMS = 20;

/** Computes the digest of a thread's content, part by part. */
export class ContentDigest {
  readonly #hash = createHash("sha256");

  add(...parts: readonly (string | number | undefined)[]): void {
    // As JSON, so that different lists have different texts.
    this.#hash.update(JSON.stringify(parts));
  }

  digest(): string {
    return this.#hash.digest("base64url");
  }
}

/** A message in the format of a driver's entries. */
export function recordOf({ createdAt, text }: FileMessage): MessageRecord {
  return { kind: kindOf(decodeValue(text), anyMessageTraits), createdAt, text };
}
