import {
  type Blobs,
  type BlobUse,
  newUse,
  type ThreadLife,
  type ThreadState,
} from "@scrollback/collections/internal";
import { StoreError } from "@scrollback/store-core";
import type { ChatEntry, Identified } from "../chat.ts";
import type { StoredEntry } from "../read/entries.ts";
import type { ChatLocation } from "../threads.ts";
import { copiesOf, extractFiles, filesIn, loaderOf, putFiles, type StoredFile } from "./extract.ts";

/** What a commit does with messages. */
export interface MessageChange<M> {
  readonly append: readonly StoredEntry<M>[];
  readonly dropped?: readonly StoredEntry<M>[];
  /** The messages that leave the path, and that the chat keeps. */
  readonly stays?: readonly StoredEntry<M>[];
  /** Gets the uses that the commit adds, also if they are not all stored. */
  readonly added?: Set<BlobUse>;
}

/** What a commit does with the files of its messages. */
export interface FileChange<M> {
  /** The entries to append, each file with its use. */
  readonly append: readonly StoredEntry<M>[];
  /** The uses of the messages that it drops, to release after it. */
  readonly dropped: readonly BlobUse[];
}

/** Options of {@link ChatFiles.sweep}. */
export interface SweepOptions extends ThreadLife {
  /** Uses whose commit is not made. */
  readonly refused?: Iterable<BlobUse>;
  readonly signal?: AbortSignal | undefined;
}

/** A use that an attempt of a commit has announced. */
interface Attempted {
  readonly state: ThreadState;
  readonly use: BlobUse;
}

/** The files of chats' messages, which are stored apart from them, once for each owner. */
export class ChatFiles {
  readonly #blobs: Blobs;
  readonly #nameOf: (base64: string) => string;
  readonly #fromBytes: number;
  /** Of files whose commit was not made yet. */
  readonly #attempted = new WeakMap<StoredFile, Attempted>();

  constructor(blobs: Blobs, nameOf: (base64: string) => string, fromBytes: number) {
    this.#blobs = blobs;
    this.#nameOf = nameOf;
    this.#fromBytes = fromBytes;
  }

  /** A message without the contents that are to be stored apart. */
  extract<M extends object>({ ownerName }: Pick<ChatLocation, "ownerName">, message: M): M {
    return extractFiles(message, this.#fromBytes, this.#nameOf, (digest) => this.load(ownerName, digest));
  }

  /** An entry for another chat, of any owner, that has none of its files yet. */
  copied<M>(
    { ownerName }: Pick<ChatLocation, "ownerName">,
    { uses, ...entry }: StoredEntry<M>,
  ): StoredEntry<M> {
    if (!uses) return entry as StoredEntry<M>;
    const load = async (digest: string) => {
      const content = await this.load(ownerName, digest);
      if (content) return content;
      throw new StoreError("CONFLICT", "a file of the chat was erased while it was copied; try again");
    };
    return { ...entry, uses: copiesOf(uses, load) } as StoredEntry<M>;
  }

  /** The content of a file of an owner; undefined if there is none. */
  async load(ownerName: string, digest: string, signal?: AbortSignal): Promise<Uint8Array | undefined> {
    return (await this.read(ownerName, digest, signal ? { signal } : {}))?.content;
  }

  /** A part of a content, and the size of the whole one; undefined if there is none. */
  async read(
    ownerName: string,
    digest: string,
    options: { readonly start?: number; readonly end?: number; readonly signal?: AbortSignal },
  ): Promise<{ readonly content: Uint8Array; readonly size: number } | undefined> {
    return await this.#blobs.read({ scope: ownerName, digest }, options);
  }

  /**
   * Stores the files of new messages, for a commit at a revision, and announces which messages it drops. A new message takes over the use
   * of one that is dropped.
   */
  async prepare<M extends Identified>(
    { threadId, ownerName: scope }: ChatLocation,
    state: ThreadState,
    { append, dropped = [], stays = [], added = new Set() }: MessageChange<M>,
    signal: AbortSignal | undefined,
  ): Promise<FileChange<M>> {
    const call = signal ? { signal } : {};
    const kept = new Set([...append, ...stays].flatMap(usesOf));
    const free = dropped
      .flatMap(({ uses = [] }) => uses)
      .filter(({ use }) => use !== undefined && !kept.has(use));
    const use = async (file: StoredFile): Promise<StoredFile | undefined> => {
      if (file.use !== undefined) return file;
      const { digest } = file;
      const index = free.findIndex((one) => one.digest === digest);
      if (index >= 0) return free.splice(index, 1)[0];
      const made = await this.#use(threadId, state, { scope, file }, added, call);
      return made && { digest, use: made.id };
    };
    const stored: StoredEntry<M>[] = [];
    for (const { uses = [], ...entry } of append) {
      const used: StoredFile[] = [];
      for (const file of uses) {
        const found = await use(file);
        if (found) used.push(found);
      }
      stored.push({ ...entry, ...(used.length > 0 && { uses: used }) } as StoredEntry<M>);
    }
    const released = free.map(({ digest, use = "" }) => ({ id: use, scope, digest }));
    if (released.length > 0) await this.#blobs.announce(threadId, state, released, call);
    return { append: stored, dropped: released };
  }

  async #use(
    threadId: string,
    state: ThreadState,
    { scope, file }: { readonly scope: string; readonly file: StoredFile },
    added: Set<BlobUse>,
    call: { readonly signal?: AbortSignal },
  ): Promise<BlobUse | undefined> {
    const before = this.#attempted.get(file);
    const [again] = before
      ? await this.#blobs.announce(threadId, state, [before.use], { before: before.state, ...call })
      : [];
    const load = loaderOf(file) ?? (async () => undefined);
    const use = again ?? newUse({ scope, digest: file.digest });
    added.add(use);
    if (!again && !(await this.#blobs.use(threadId, state, use, load, call))) {
      added.delete(use);
      await this.#blobs.release(threadId, [use], call);
      return undefined;
    }
    this.#attempted.set(file, { state, use });
    return use;
  }

  /** After the commit that has added these uses. */
  async settle(
    threadId: string,
    state: Pick<ThreadState, "writes"> & ThreadLife,
    added: Iterable<BlobUse>,
  ): Promise<void> {
    await this.#blobs.settle(threadId, state, [...added]);
  }

  /** After the commit that has dropped these uses. Returns when nothing is left of their contents, unless others use them. */
  async release(threadId: string, dropped: readonly BlobUse[]): Promise<void> {
    await this.#blobs.release(threadId, dropped);
  }

  /** Releases each file that no message of a chat has. @param find reads all entries of the chat, those beside its path too. */
  async sweep(
    threadId: string,
    find: () => Promise<ThreadState & ThreadLife & { readonly entries: readonly StoredEntry<unknown>[] }>,
    { incarnation, refused = [], signal }: SweepOptions,
  ): Promise<void> {
    const ended = new Set([...refused].map(({ id }) => id));
    await this.#blobs.sweep(
      threadId,
      async () => {
        const { entries, ...state } = await find();
        return { ...state, uses: new Set(entries.flatMap(usesOf)) };
      },
      { incarnation, refused: ended, ...(signal && { signal }) },
    );
  }

  /**
   * A value with the contents of some files in the place of their references; a file that is not there keeps them.
   *
   * @param urlsForMs the time for which URLs take the place of data URLs, if the storage has them. Default: none do.
   */
  async put<T>(
    ownerName: string,
    value: T,
    fileIds: readonly string[],
    { urlsForMs, signal }: { readonly urlsForMs?: number; readonly signal?: AbortSignal | undefined },
  ): Promise<T> {
    const allowed = new Set(fileIds);
    if (allowed.size === 0) return value;
    const contents = new Map<string, Uint8Array>();
    const urls = new Map<string, string>();
    for (const [fileId, mediaType] of filesIn(value)) {
      if (!allowed.has(fileId)) continue;
      const url =
        urlsForMs !== undefined && mediaType !== undefined
          ? await this.#blobs.url(
              { scope: ownerName, digest: fileId },
              { mediaType, expiresInMs: urlsForMs },
              signal ? { signal } : {},
            )
          : undefined;
      const content = url === undefined ? await this.load(ownerName, fileId, signal) : undefined;
      if (url !== undefined) urls.set(fileId, url);
      if (content) contents.set(fileId, content);
    }
    return putFiles(value, contents, urls);
  }

  /** Entries with the contents of their files, as they were added. @throws StoreError `CORRUPT` if one is not there. */
  async restore<M>(
    { ownerName, threadId }: Pick<ChatLocation, "ownerName" | "threadId">,
    entries: readonly ChatEntry<M>[],
    signal: AbortSignal | undefined,
  ): Promise<ChatEntry<M>[]> {
    const fileIds = entries.flatMap(({ files = [] }) => files);
    const messages = await this.put(
      ownerName,
      entries.map(({ message }) => message),
      fileIds,
      { signal },
    );
    return entries.map(({ files = [], ...entry }, index) => {
      const message = messages[index] as M;
      const left = files.length > 0 ? filesIn(message) : new Set();
      if (files.some((fileId) => left.has(fileId)))
        throw new StoreError("CORRUPT", `a file of a message of thread "${threadId}" is not there`, {
          threadId,
        });
      return { ...entry, message };
    });
  }
}

function usesOf({ uses = [] }: Pick<StoredEntry<unknown>, "uses">): string[] {
  return uses.flatMap(({ use }) => use ?? []);
}
