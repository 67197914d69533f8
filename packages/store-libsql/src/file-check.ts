import { statSync } from "node:fs";
import type { Client } from "@libsql/client";
import { StoreError } from "@scrollback/store-core";

/** The time between two checks. A check takes a few microseconds. */
const CHECK_EVERY_MS = 500;

/**
 * Detects that the database file was deleted, moved or replaced. An open connection would go on with the old file, which no other
 * process can open, and whose content is gone when the connection is closed.
 */
export class FileCheck {
  readonly #path: string;
  readonly #identity: string | undefined;
  #next = 0;

  private constructor(path: string) {
    this.#path = path;
    this.#identity = identityOf(path);
  }

  /** The check of the file that a client has open; undefined for a database in memory. */
  static async of(client: Client): Promise<FileCheck | undefined> {
    const { rows } = await client.execute("PRAGMA database_list");
    const path = rows.find(({ name }) => name === "main")?.file;
    return typeof path === "string" && path !== "" ? new FileCheck(path) : undefined;
  }

  /** @throws StoreError `UNAVAILABLE` if the file is no longer at its path. Checks once in 500 ms. */
  assertInPlace(): void {
    const now = performance.now();
    if (now < this.#next) return;
    if (identityOf(this.#path) !== this.#identity) {
      throw new StoreError(
        "UNAVAILABLE",
        "libsql: the database file was deleted, moved or replaced while it was open; put it back, or close the stores and open them again",
      );
    }
    this.#next = now + CHECK_EVERY_MS;
  }
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
