import { basename, extname, join } from "node:path";
import { defineConfig, type Plugin } from "vitest/config";
import { fromSource } from "../../vitest.source.ts";
import { type Mutant, mutantsOf, mutated, type SourceChange, soundRuns, titleOf } from "./table.ts";

const root = join(import.meta.dirname, "../..");
/** What to run, separated by commas. */
const { MUTANT_RUNS_ALL = "" } = process.env;
const runs = MUTANT_RUNS_ALL.split(",");

/** Makes the changes of a mutant when a source is loaded. */
function mutate({ changes }: Mutant): Plugin {
  const loaded = changes.map(whenRead);
  const changesOf = (id: string) => loaded.filter(({ file }) => id.split("?")[0] === join(root, file));
  return {
    name: "mutate",
    enforce: "pre",
    // The cache is shared by all mutants, so that each compiles only what it changes.
    configureVitest: ({ defineCacheKeyGenerator }) =>
      defineCacheKeyGenerator(({ id }) => (changesOf(id).length > 0 ? false : undefined)),
    transform(code, id) {
      const own = changesOf(id);
      return own.length === 0 ? undefined : { code: own.reduce(mutated, code), map: null };
    },
  };
}

/** Where the files that are no modules are read: in which module, and by which expression. */
const readers: Readonly<Record<string, readonly [file: string, read: string]>> = {
  ".sql": [
    "packages/store-postgres/src/sql.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of the module
    'readFileSync(new URL(`../sql/${name}`, import.meta.url), "utf8")',
  ],
  ".lua": [
    "packages/store-redis/src/lua.ts",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of the module
    'readFileSync(new URL(`../lua/${name}`, import.meta.url), "utf8")',
  ],
};

/** A change of such a file as one of the module that reads it. */
function whenRead(change: SourceChange): SourceChange {
  const [file, read] = readers[extname(change.file)] ?? [];
  if (!file || !read) return change;
  const [name, from, to] = [basename(change.file), change.from, change.to].map((text) =>
    JSON.stringify(text),
  );
  return { file, from: read, to: `(${read}).replace(name === ${name} ? ${from} : /$^/, () => ${to})` };
}

/** The suite on mutated sources, one project per mutant, and on sound ones. Run by declare-mutants.ts. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    fsModuleCache: true,
    maxWorkers: 3,
    maxConcurrency: 20,
    reporters: ["json"],
    projects: [...soundRuns, ...mutantsOf()]
      .filter((mutant) => runs.includes(mutant.runs))
      .map((mutant) => ({
        plugins: [mutate(mutant)],
        ...fromSource,
        test: {
          name: titleOf(mutant),
          root: import.meta.dirname,
          include: ["backend.fixture.ts"],
          env: {
            MUTANT_NAME: titleOf(mutant),
            MUTANT_RUNS: mutant.runs,
            MUTANT_CLAUSE: mutant.breaks,
          },
        },
      })),
  },
});
