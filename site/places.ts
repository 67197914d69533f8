import { join } from "node:path";

/** The repository. */
export const root = join(import.meta.dirname, "..");
/** The folder of the staged pages, which VitePress builds. */
export const staged = join(import.meta.dirname, ".pages");
/** The folder of the built site. */
export const built = join(import.meta.dirname, "dist");
/** The URL of repository files that are not pages of the site. */
export const repository = "https://github.com/scrollback-js/scrollback";
