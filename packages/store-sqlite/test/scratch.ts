import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StoreError } from "@scrollback/store-core";
import type { CommitRequest, MessageRecord } from "@scrollback/store-core/driver";
import { afterEach, beforeEach, expect } from "vitest";

/** An empty folder for each test of the calling file, with a path for a database in it. */
export function useScratch(): Scratch {
  const scratch = new Scratch();
  beforeEach(() => scratch.make());
  afterEach(() => scratch.remove());
  return scratch;
}

export class Scratch {
  directory = "";

  get path(): string {
    return join(this.directory, "chats.db");
  }

  get url(): string {
    return `sqlite:${this.path}`;
  }

  make(): void {
    this.directory = mkdtempSync(join(tmpdir(), "scrollback-sqlite-"));
  }

  remove(): void {
    rmSync(this.directory, { recursive: true });
  }

  /** Runs SQL on the database, on a separate connection. */
  exec(sql: string): void {
    const raw = new DatabaseSync(this.path);
    raw.exec(sql);
    raw.close();
  }

  /** The rows of an SQL query on the database, on a separate connection. */
  query(sql: string): Record<string, unknown>[] {
    const raw = new DatabaseSync(this.path);
    const rows = raw.prepare(sql).all();
    raw.close();
    return rows;
  }
}

/** The StoreError that a promise rejects with: its documented fields. */
export async function failure(
  promise: Promise<unknown>,
): Promise<{ code: string; retryable: boolean; message: string }> {
  const error = await promise.then(
    () => expect.unreachable("it did not fail"),
    (error: unknown) => error,
  );
  if (!StoreError.is(error)) throw error;
  return { code: error.code, retryable: error.retryable, message: error.message };
}

/** A user's message with a text, as store-core encodes it. */
export function userText(text: string): MessageRecord {
  return { kind: "u", createdAt: 1_795_348_800_000, text };
}

/** A commit request in store-core's format. */
export function commitRequest(changes: Partial<CommitRequest>): CommitRequest {
  return {
    threadId: "thread",
    operationId: crypto.randomUUID(),
    digest: "digest-of-22-character",
    newIncarnation: "newEpochOf16char",
    expectedRevision: undefined,
    drop: 0,
    append: [],
    metadata: undefined,
    maxMessages: undefined,
    trimming: "turns",
    ttlMs: undefined,
    createdAt: 1_795_348_800_000,
    updatedAt: 1_795_348_800_000,
    signal: undefined,
    ...changes,
  };
}
