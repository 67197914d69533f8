import type { BlobStorage } from "@scrollback/chats";
import { Blobs, type BlobUse, partThreads } from "@scrollback/collections/internal";
import { chatMessageTraits, StoreError, type StoreFactory } from "@scrollback/store-core";

/** A file that a message of a chat has: its id, by that of its use. */
export type MessageFiles = ReadonlyMap<string, string>;

/** The files of a message of a chat, as it was stored. */
export function filesOf(message: unknown): MessageFiles {
  const { uses } = Object((Object(message) as { metadata?: unknown }).metadata) as { uses?: unknown };
  const files = (Array.isArray(uses) ? uses : []).flatMap((one: unknown) => {
    const { digest, use } = Object(one) as Record<string, unknown>;
    return typeof digest === "string" && typeof use === "string" ? [[use, digest] as const] : [];
  });
  return new Map(files);
}

/** The chat of a thread that is one, or a part of one. */
function chatOf(threadId: string): string | undefined {
  const [, of = threadId] = /^part:(.*):[\w-]{12}$/s.exec(threadId) ?? [];
  return of.startsWith("chats:chat:") ? of : undefined;
}

/** Checks the files of chats, each content once. */
export class FileCheck {
  readonly #stores: StoreFactory<unknown>;
  readonly #blobs: Blobs;
  readonly #signal: AbortSignal;
  readonly #checked = new Map<string, ReturnType<Blobs["check"]>>();
  readonly #elsewhere = new Set<string>();

  constructor(
    stores: StoreFactory<unknown>,
    { blobs, signal }: { readonly blobs?: BlobStorage | undefined; readonly signal: AbortSignal },
  ) {
    this.#stores = stores;
    this.#blobs = new Blobs(stores.withTraits(chatMessageTraits), { elsewhere: blobs });
    this.#signal = signal;
  }

  /** The number of contents that were not checked, because they are in another storage. */
  get unchecked(): number {
    return this.#elsewhere.size;
  }

  /** The ids of the files of a thread's messages that have no content. */
  async missing(threadId: string, files: MessageFiles): Promise<string[]> {
    const chat = chatOf(threadId);
    if (chat === undefined || files.size === 0) return [];
    const uses = new Map((await this.#blobs.uses(chat, this.#signal)).map((use) => [use.id, use]));
    const missing = new Map<string, string>();
    for (const [id, digest] of files)
      if ((await this.#check(uses.get(id))) === "missing") missing.set(id, digest);
    if (missing.size === 0) return [];
    // A message that was dropped meanwhile has no file any more.
    const now = await this.#filesNow(threadId, chat);
    return [...missing].filter(([id]) => now.has(id)).map(([, digest]) => digest);
  }

  async #check(use: BlobUse | undefined): ReturnType<Blobs["check"]> {
    if (!use) return "missing";
    const name = `${use.digest} ${use.scope}`;
    const checking = this.#checked.get(name) ?? this.#blobs.check(use, { signal: this.#signal });
    this.#checked.set(name, checking);
    const found = await checking.catch((error: unknown) => {
      if (StoreError.is(error, "CORRUPT")) return "missing" as const;
      throw error;
    });
    if (found === "elsewhere") this.#elsewhere.add(name);
    // A later message may have stored it anew.
    if (found === "missing") this.#checked.delete(name);
    return found;
  }

  async #filesNow(threadId: string, chat: string): Promise<MessageFiles> {
    const { entries } = await this.#stores.open(threadId).read({ signal: this.#signal });
    const head = await this.#stores.open(chat).read({ limit: 0, signal: this.#signal });
    const isThere = threadId === chat || partThreads(chat, head.metadata).includes(threadId);
    return new Map(isThere ? entries.flatMap(({ message }) => [...filesOf(message)]) : []);
  }
}
