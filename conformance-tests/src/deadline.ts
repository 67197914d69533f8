/**
 * When a call must have ended, in milliseconds: it is tried again for 5 seconds, and its last request may take as long once
 * more before a driver gives it up. The rest is for a busy machine.
 */
export const DEADLINE_MS = 15_000;
