import { statSync } from "node:fs";
import { StoreError } from "@scrollback/store-core";
import { pathOf, type SqliteSource } from "./options.ts";

/** The time between two checks. A check takes a few microseconds, about a tenth of the fastest commit. */
const CHECK_EVERY_MS = 500;

/**
 * Detects that the database file was deleted, moved or replaced. The open connection would go on with the old file, which no
 * other process can open, and whose content is gone when the connection is closed.
 */
export class FileCheck {
  readonly #path: string;
  readonly #identity: string | undefined;
  #next = 0;

  constructor(path: string) {
    this.#path = path;
    this.#identity = identityOf(path);
  }

  /** @throws StoreError `UNAVAILABLE` if the file is no longer at its path. Checks once in 500 ms. */
  assertInPlace(): void {
    const now = performance.now();
    if (now < this.#next) return;
    if (identityOf(this.#path) !== this.#identity) {
      throw new StoreError(
        "UNAVAILABLE",
        "sqlite: the database file was deleted, moved or replaced while it was open; put it back, or close the stores and open them again",
      );
    }
    this.#next = now + CHECK_EVERY_MS;
  }
}

/** The check of an open database; undefined for one in memory. */
export function fileCheckOf(source: SqliteSource): FileCheck | undefined {
  const path = pathOf(source);
  return path === null ? undefined : new FileCheck(path);
}

/** The identity of the file at a path; undefined if it cannot be read. */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}
