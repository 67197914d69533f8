import type { TrimSearch } from "@scrollback/store-core/driver";
import { Contention } from "@scrollback/store-core/internal";
import type { LoadedHead } from "../database.ts";

/** Pages that this process wrote for a swap that may not have been made. */
export interface Orphans {
  /** The token of the head that the swap was to replace; `null`: none. */
  readonly token: string | null;
  readonly ids: readonly string[];
  /** Whether the request that writes them has ended. Until then they may still arrive, after a caller that waits no more. */
  isWritten: boolean;
}

/** What a process knows of a thread. All of it may be outdated: a swap on an old head fails. */
export class ThreadMemory {
  /** The newest head that this process has seen; undefined: it must be read. */
  known: LoadedHead | null | undefined;
  /** Belongs to the head with the token. */
  search: { readonly token: string; readonly search: TrimSearch } | undefined;
  /** The token of the newest head whose `leaving` this process has removed. */
  cleaned: string | undefined;
  orphans: readonly Orphans[] = [];
  /** The remembered operations of this process whose outcome it has received: they are not sent again. */
  received: Set<bigint> = new Set();
  readonly contention = new Contention();
}
