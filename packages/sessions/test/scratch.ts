import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** The URL of a database in a folder that goes after the test. */
export function scratchUrl(): string {
  const directory = mkdtempSync(join(tmpdir(), "scrollback-sessions-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  return `sqlite:${join(directory, "chats.db")}`;
}
