import { join } from "node:path";

/** The repository. */
export const root = join(import.meta.dirname, "..");
/** Where the pages are put together that VitePress builds. */
export const staged = join(import.meta.dirname, ".pages");
/** Where the built site is written. */
export const built = join(import.meta.dirname, "dist");
/** Where a reader finds a file that is not a page of the site. */
export const repository = "https://github.com/scrollback-js/scrollback";
