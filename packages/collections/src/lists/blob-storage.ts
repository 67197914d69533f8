/** Where the contents of files are. A key is 12 characters of base64url, of one content, and written once. */
export interface BlobStorage {
  put(key: string, content: Uint8Array, options?: { readonly signal?: AbortSignal }): Promise<void>;
  /**
   * A content, or its bytes from `start` to before `end`; undefined if there is none.
   *
   * @param options `start`: default 0. `end`: default the size, which it may exceed.
   */
  get(
    key: string,
    options?: { readonly start?: number; readonly end?: number; readonly signal?: AbortSignal },
  ): Promise<Uint8Array | undefined>;
  /**
   * Deletes a content for good. A missing one is not an error. A storage that can refuses a `put` of the key for an hour: that of a
   * process which died may arrive later.
   */
  delete(key: string, options?: { readonly signal?: AbortSignal }): Promise<void>;
  /** A URL at which anybody can read a content for a time. Absent: the storage has none. */
  url?(
    key: string,
    options: { readonly mediaType: string; readonly expiresInMs: number },
  ): Promise<string | undefined>;
}
