/** The maximum number of threads in a cache of this package. The least recently used one is dropped. */
export const CACHE_SIZE = 1_000;
