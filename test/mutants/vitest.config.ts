import { basename, extname, join } from "node:path";
import { defineConfig, type Plugin } from "vitest/config";
import { fromSource } from "../../vitest.source.ts";
import { mutated, type SourceMutant, sourceMutants, titleOf } from "./source-mutants.ts";

const root = join(import.meta.dirname, "../..");
/** Their backends, separated by commas. */
const { MUTANT_BACKENDS = "" } = process.env;
const mutants = sourceMutants.filter(({ backend }) => MUTANT_BACKENDS.split(",").includes(backend));

/** Applies a mutant when the source is loaded. */
function mutate(mutant: SourceMutant): Plugin {
  const extension = extname(mutant.file);
  const change = extension === ".sql" || extension === ".lua" ? whenRead(mutant, extension) : mutant;
  const loaded = join(root, "packages", change.file);
  return {
    name: "mutate",
    enforce: "pre",
    transform(code, id) {
      if (id.split("?")[0] !== loaded) return undefined;
      return { code: mutated(code, change), map: null };
    },
  };
}

/** Where the files that are no modules are read: in which module, and by which expression. */
const readers = {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of the module
  ".sql": ["store-postgres/src/sql.ts", 'readFileSync(new URL(`../sql/${name}`, import.meta.url), "utf8")'],
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the text of the module
  ".lua": ["store-redis/src/lua.ts", 'readFileSync(new URL(`../lua/${name}`, import.meta.url), "utf8")'],
} as const;

/** A mutant of such a file as one of the module that reads it. */
function whenRead(mutant: SourceMutant, extension: keyof typeof readers): SourceMutant {
  const [file, read] = readers[extension];
  const [name, from, to] = [basename(mutant.file), mutant.from, mutant.to].map((text) =>
    JSON.stringify(text),
  );
  return {
    ...mutant,
    file,
    from: read,
    to: `(${read}).replace(name === ${name} ? ${from} : /$^/, () => ${to})`,
  };
}

/** The suite on mutated sources, one project per mutant. Run by declare-mutants.ts, which expects each to fail. */
export default defineConfig({
  test: {
    root: import.meta.dirname,
    // Each project has its own source, but the cache would treat them as the same.
    fsModuleCache: false,
    maxWorkers: 3,
    maxConcurrency: 20,
    reporters: ["json"],
    projects: mutants.map((mutant) => ({
      plugins: [mutate(mutant)],
      ...fromSource,
      test: {
        name: titleOf(mutant),
        root: import.meta.dirname,
        include: ["backend.fixture.ts"],
        fsModuleCache: false,
        env: {
          MUTANT_NAME: titleOf(mutant),
          MUTANT_BACKEND: mutant.backend,
          MUTANT_CLAUSE: mutant.breaks,
        },
      },
    })),
  },
});
