/** The tables of the layout. */
export const TABLES = ["threads", "messages", "operations", "deletions", "entries"] as const;
