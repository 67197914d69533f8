/** How many threads a cache of this package holds; the least recently used is dropped. */
export const CACHE_SIZE = 1_000;
