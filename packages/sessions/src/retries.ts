/** The maximum number of threads in a cache of this package. The least recently used one is dropped. */
export const CACHE_SIZE = 1_000;

/** The retries of a creation. A conflict nearly always means that the session exists, which the next attempt finds. */
export const CREATE_RETRIES = { attempts: 21, longestPause: 3, isFirstCached: true };
/** The retries of other writes. */
export const WRITE_RETRIES = { attempts: 1_001, longestPause: 3 };
