import { StoreError } from "@scrollback/store-core";

// Not imported: an older Node would fail with ERR_UNKNOWN_BUILTIN_MODULE before store-core reports the required version.
const sqlite: typeof import("node:sqlite") | undefined = process.getBuiltinModule("node:sqlite");
if (!sqlite) {
  throw new StoreError(
    "UNSUPPORTED",
    "store-sqlite: this Node.js has no node:sqlite; it was built or started without it",
  );
}

export const { DatabaseSync } = sqlite;
export type DatabaseSync = import("node:sqlite").DatabaseSync;
