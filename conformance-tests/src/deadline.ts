/**
 * The time limit of a call in milliseconds: the store retries for 5 seconds, and its last request may take the same time again
 * before the driver gives it up. The rest is a tolerance for a busy machine.
 */
export const DEADLINE_MS = 15_000;
