import type {
  ArtifactVersion,
  BaseArtifactService,
  DeleteArtifactRequest,
  ListArtifactKeysRequest,
  ListVersionsRequest,
  LoadArtifactRequest,
  SaveArtifactRequest,
} from "@google/adk";
import {
  type BlobStorage,
  ChatStore,
  type ChatStoreOptions,
  type ChatSummary,
  type OwnedChats,
} from "@scrollback/chats";
import { jsonCodec, StoreError } from "@scrollback/store-core";
import { type Check, checkOptions, isId } from "@scrollback/store-core/driver";
import { checkValue, isStoreFactory, retry, sha256 } from "@scrollback/store-core/internal";
import { type Part, type StoredArtifact, toPart, toStoredArtifact } from "./artifact.ts";

const USER_PREFIX = "user:";
const MAX_FILENAME = 512;
/** The attempts of a save while other processes create and delete the artifact. */
const SAVE_ATTEMPTS = 5;
const PAGE = 1_000;

/** Options of {@link GoogleAdkArtifactService}. */
export interface GoogleAdkArtifactServiceOptions {
  /** A store factory of any backend and any message type, without `maxMessages`. With `ttlMs` an artifact expires that long after its last save. The factory stays open. */
  stores: ChatStoreOptions<StoredArtifact>["stores"];
  /** Where contents of 64 KiB or more are stored, as for `ChatStore`: the same place in all processes. Default: the message store. */
  blobs?: BlobStorage;
}

type UserKey = Pick<ListArtifactKeysRequest, "appName" | "userId">;

/** The chat of an artifact. */
interface Place {
  readonly mine: OwnedChats<StoredArtifact>;
  readonly chatId: string;
  /** The label of the session; undefined for an artifact of the user. */
  readonly session: string | undefined;
}

/**
 * The artifacts of Google's Agent Development Kit for TypeScript, version 2, as chats: an artifact is a chat, and each of its versions a
 * message. A file name that begins with `user:` is that of an artifact of all sessions of the user. A content is stored once for each user
 * of an app.
 *
 * The chats have the owner `["google-adk-artifacts",<appName>,<userId>]`, as JSON, so they are in no list of another owner. Do not use
 * such texts as owner ids of your own.
 *
 * Each call rejects with the `StoreError`s of chats: before any I/O with `INVALID_ARGUMENT` for an invalid app name, user id, session id or
 * file name (1 to 512 characters), or a value that cannot be stored.
 *
 * @example
 * const artifactService = new GoogleAdkArtifactService({ stores: await openStores("sqlite:chats.db") });
 * const runner = new Runner({ appName: "travel", agent, sessionService, artifactService });
 */
export class GoogleAdkArtifactService implements BaseArtifactService, AsyncDisposable {
  readonly #chats: ChatStore<StoredArtifact>;

  /** Does no I/O. @throws StoreError `INVALID_ARGUMENT` for an invalid option, or stores that trim. */
  constructor(options: GoogleAdkArtifactServiceOptions) {
    const checks = { stores: isStoreFactory("artifacts"), blobs: () => undefined };
    checkOptions("GoogleAdkArtifactService", options, checks, ["stores"]);
    this.#chats = new ChatStore<StoredArtifact>({ ...options, preview: () => "" });
  }

  /**
   * Stores a new version, and returns its number: 0 for the first one. Concurrent saves get different numbers. A save that is called again
   * after an error may store two versions.
   *
   * @throws StoreError `INVALID_ARGUMENT` for an artifact without `inlineData`, `text` and `fileData`; `TOO_LARGE`.
   */
  async saveArtifact(request: SaveArtifactRequest): Promise<number> {
    const { mine, chatId, session } = this.#placeOf("saveArtifact", request);
    const { filename, artifact, customMetadata } = request;
    checkValue("saveArtifact", "artifact", isArtifact, artifact);
    const message = mine.withoutFiles({
      id: crypto.randomUUID(),
      role: "user",
      artifact: toStoredArtifact(artifact),
      ...(customMetadata && { customMetadata }),
    });
    // What cannot be stored is refused before its content is.
    jsonCodec.encode(message);
    const labels = session === undefined ? {} : { session };
    const save = async () => {
      try {
        return await mine.append(chatId, [message]);
      } catch (error) {
        if (!StoreError.is(error, "NOT_FOUND")) throw error;
        return await mine.create({ id: chatId, title: filename, labels, messages: [message] });
      }
    };
    const { messageCount } = await retry(save, { attempts: SAVE_ATTEMPTS });
    return messageCount - 1;
  }

  /**
   * Returns an artifact as it was saved: the newest version, or this one; undefined if there is none. An older version takes a read of all
   * versions without their contents.
   *
   * @throws StoreError `CORRUPT` if a version or its content cannot be read.
   */
  async loadArtifact(request: LoadArtifactRequest): Promise<Part | undefined> {
    const place = this.#placeOf("loadArtifact", request);
    const found = await findVersion(place, request.version);
    const read = found && (await place.mine.readMessage(place.chatId, found.message.id));
    return read && toPart(read.entry.message.artifact);
  }

  /**
   * Returns the sorted file names of the session and of the user. Reads the list of the user's artifacts of all sessions, in pages of
   * 1,000: with more of them, one that is saved meanwhile may be missing.
   */
  async listArtifactKeys(request: ListArtifactKeysRequest): Promise<string[]> {
    const { mine, session } = this.#ofSession("listArtifactKeys", request);
    const names: string[] = [];
    for (const { labels, title } of await allOf(mine))
      if (title !== undefined && (labels.session ?? session) === session) names.push(title);
    return names.sort();
  }

  /** Deletes all versions of an artifact, and their contents. Does nothing for a missing one. After a failure, call it again. */
  async deleteArtifact(request: DeleteArtifactRequest): Promise<void> {
    const { mine, chatId } = this.#placeOf("deleteArtifact", request);
    await mine.delete(chatId);
  }

  /** Returns the numbers of all versions, from 0; none for a missing artifact. */
  async listVersions(request: ListVersionsRequest): Promise<number[]> {
    const { mine, chatId } = this.#placeOf("listVersions", request);
    const chat = await mine.get(chatId);
    return Array.from({ length: chat?.messageCount ?? 0 }, (_, version) => version);
  }

  /** Returns the number, custom metadata and MIME type of all versions, without a `canonicalUri`. Loads no contents. */
  async listArtifactVersions(request: ListVersionsRequest): Promise<ArtifactVersion[]> {
    return (await readVersions(this.#placeOf("listArtifactVersions", request))).map(versionOf);
  }

  /** Returns what {@link GoogleAdkArtifactService.listArtifactVersions} has of the newest version, or of this one. */
  async getArtifactVersion(request: LoadArtifactRequest): Promise<ArtifactVersion | undefined> {
    const found = await findVersion(this.#placeOf("getArtifactVersion", request), request.version);
    return found && versionOf(found);
  }

  /** Deletes the artifacts of a session, but not those of its user. ADK does not call it. After a failure, call it again. */
  async deleteSession(request: ListArtifactKeysRequest): Promise<void> {
    const { mine, session } = this.#ofSession("deleteSession", request);
    for (const { id, labels } of await allOf(mine)) if (labels.session === session) await mine.delete(id);
  }

  /** Deletes all artifacts of a user in an app. After a failure, call it again. */
  async deleteUser(request: UserKey): Promise<void> {
    await this.#ofUser("deleteUser", request).deleteAll();
  }

  /** Returns when the order of lists is stored. Call it before you close the stores. */
  async flush(): Promise<void> {
    await this.#chats.flush();
  }

  /** The same as {@link GoogleAdkArtifactService.flush}. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.flush();
  }

  #placeOf(method: string, request: ListVersionsRequest): Place {
    const { mine, session } = this.#ofSession(method, request);
    const { filename } = request;
    checkValue(method, "filename", isFilename, filename);
    const own = filename.startsWith(USER_PREFIX) ? undefined : session;
    // Names of threads are not encrypted.
    return { mine, session: own, chatId: sha256(JSON.stringify([own ?? null, filename])) };
  }

  #ofSession(method: string, request: ListArtifactKeysRequest) {
    const mine = this.#ofUser(method, request);
    checkValue(method, "sessionId", isId, request.sessionId);
    // A label has no room for each id.
    return { mine, session: sha256(request.sessionId) };
  }

  #ofUser(method: string, { appName, userId }: UserKey): OwnedChats<StoredArtifact> {
    checkValue(method, "appName", isId, appName);
    checkValue(method, "userId", isId, userId);
    const owner = JSON.stringify(["google-adk-artifacts", appName, userId]);
    checkValue(method, "appName with userId", isId, owner);
    return this.#chats.of(owner);
  }
}

interface Version {
  readonly version: number;
  readonly message: StoredArtifact;
}

/** The newest versions of an artifact, or all, oldest first, without contents. @throws StoreError `CORRUPT`. */
async function readVersions({ mine, chatId }: Place, limit?: number): Promise<Version[]> {
  const options = { files: "references", ...(limit !== undefined && { limit }) } as const;
  const page = await mine.read(chatId, options);
  if (!page) return [];
  const { chat, entries } = page;
  const first = chat.messageCount - entries.length;
  // A store that skips what it cannot read would shift the numbers.
  if ((limit === undefined && first > 0) || entries.at(-1)?.message.id !== chat.lastMessage?.id)
    throw new StoreError("CORRUPT", "a version of the artifact cannot be read; deleteArtifact deletes it");
  return entries.map(({ message }, index) => ({ version: first + index, message }));
}

async function findVersion(place: Place, version: number | undefined): Promise<Version | undefined> {
  if (version === undefined) return (await readVersions(place, 1))[0];
  return (await readVersions(place)).find((one) => one.version === version);
}

function versionOf({ version, message: { artifact, customMetadata } }: Version): ArtifactVersion {
  const mimeType = (artifact.inlineData ?? artifact.fileData)?.mimeType;
  return { version, ...(customMetadata && { customMetadata }), ...(mimeType !== undefined && { mimeType }) };
}

async function allOf(mine: OwnedChats<StoredArtifact>): Promise<ChatSummary[]> {
  const all = new Map<string, ChatSummary>();
  let cursor: string | undefined;
  do {
    const page = await mine.list({ limit: PAGE, ...(cursor !== undefined && { cursor }) });
    for (const chat of page.chats) all.set(chat.id, chat);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return [...all.values()];
}

const isArtifact: Check = (value) => {
  const { inlineData, text, fileData } = Object(value) as Part;
  if (!inlineData && !text && !fileData) return "must have inlineData, text or fileData";
  if (typeof (text ?? "") !== "string") return ".text must be a string";
  return typeof (inlineData?.data ?? "") === "string"
    ? undefined
    : ".inlineData.data must be base64 in a string";
};

const isFilename: Check = (value) =>
  isId(value) ??
  ((value as string).length > MAX_FILENAME ? `must have at most ${MAX_FILENAME} characters` : undefined);
