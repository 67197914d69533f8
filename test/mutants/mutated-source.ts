/**
 * Loaded before a process's own modules, which are sources: makes the changes in the environment variable `MUTANT_CHANGES`.
 */
import { registerHooks } from "node:module";
import { mutated, type SourceChange } from "./table.ts";

const root = new URL("../../", import.meta.url);
const { MUTANT_CHANGES = "[]" } = process.env;
const changes: readonly SourceChange[] = JSON.parse(MUTANT_CHANGES);

registerHooks({
  load(url, context, next) {
    const loaded = next(url, context);
    const own = changes.filter(({ file }) => url === new URL(file, root).href);
    if (own.length === 0) return loaded;
    return { ...loaded, source: own.reduce(mutated, String(loaded.source)) };
  },
});
