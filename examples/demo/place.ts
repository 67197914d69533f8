import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { invalid } from "@scrollback/store-core/driver";
import { formatBytes } from "./screen.ts";

/** @throws StoreError `INVALID_ARGUMENT` for a store that is visible only to the process that opened it. */
export function checkShared(url: string): void {
  if (url.startsWith("memory:") || url === "sqlite::memory:") {
    invalid(
      `--store: what is in ${url} ends with its process, and the demo kills one and goes on in another; give a file like sqlite:chats.db, or a server like redis://localhost`,
    );
  }
}

/** A URL without user, password and parameters, safe to print. */
export function shownUrl(url: string): string {
  return url.replace(/^([a-z+]+:\/\/)(?:.*@)?([^?]*).*$/s, "$1$2");
}

/** The location of a store's data: a file with its size, or a server. */
export async function whereItLies(url: string): Promise<string> {
  if (!url.startsWith("sqlite:")) return shownUrl(url);
  const file = resolve(url.slice("sqlite:".length));
  const sizes = ["", "-wal"].map((suffix) =>
    stat(file + suffix).then(
      ({ size }) => size,
      () => 0,
    ),
  );
  const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
  return `${file} (${formatBytes(bytes)})`;
}
