/** When a directory is compacted, and the size of its leaves. Tests use smaller numbers. */
export interface CompactionSizes {
  /** A directory with fewer notes is not compacted. */
  readonly enoughNotes: number;
  /** The maximum number of entries in a leaf. */
  readonly maxLeaf: number;
  /** A leaf with fewer entries is merged with a neighbour that is written anyway. */
  readonly smallLeaf: number;
  /** The maximum number of entries that the root holds itself. */
  readonly maxInline: number;
}

/** The sizes of every directory; only tests use others. */
export const defaultSizes: CompactionSizes = { enoughNotes: 128, maxLeaf: 256, smallLeaf: 64, maxInline: 64 };
/** The root also contains the names of thousands of leaves, and metadata is limited to 256 KiB. */
export const MAX_INLINE_BYTES = 32 * 1024;
