import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** The URL of a database in a folder that goes after the file's tests. */
export function scratchUrl(): string {
  const directory = mkdtempSync(join(tmpdir(), "scrollback-langgraph-"));
  afterAll(() => rmSync(directory, { recursive: true }));
  return `sqlite:${join(directory, "checkpoints.db")}`;
}
