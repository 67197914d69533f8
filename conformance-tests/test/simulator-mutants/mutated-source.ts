/**
 * Loaded before a process's own modules: replaces `@scrollback/store-core` by its source, with the changes in the environment
 * variable `MUTANT_CHANGES`.
 */
import { registerHooks } from "node:module";
import { mutate, type SourceChange } from "./mutate.ts";

const source = new URL("../../../packages/store-core/src/", import.meta.url);
const changes: readonly SourceChange[] = JSON.parse(process.env.MUTANT_CHANGES ?? "[]");

registerHooks({
  resolve(specifier, context, next) {
    return next(
      specifier === "@scrollback/store-core" ? new URL("index.ts", source).href : specifier,
      context,
    );
  },
  load(url, context, next) {
    const loaded = next(url, context);
    const own = changes.filter(({ file }) => url === new URL(`record-log/${file}`, source).href);
    if (own.length === 0) return loaded;
    return { ...loaded, source: own.reduce(mutate, String(loaded.source)) };
  },
});
