import { basename, join } from "node:path";
import { defineConfig, type Plugin } from "vitest/config";
import { fromSource } from "../../vitest.source.ts";
import { mutated, type SourceMutant, sourceMutants, titleOf } from "./source-mutants.ts";

const root = join(import.meta.dirname, "../..");
/** Their backends, separated by commas. */
const { MUTANT_BACKENDS = "" } = process.env;
const mutants = sourceMutants.filter(({ backend }) => MUTANT_BACKENDS.split(",").includes(backend));

/** Applies a mutant when the source is loaded. */
function mutate(mutant: SourceMutant): Plugin {
  const change = mutant.file.endsWith(".sql") ? whenRead(mutant) : mutant;
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

/** A mutant of PostgreSQL's SQL as one of the module that reads these files: they are no modules. */
function whenRead(mutant: SourceMutant): SourceMutant {
  const [name, from, to] = [basename(mutant.file), mutant.from, mutant.to].map((text) =>
    JSON.stringify(text),
  );
  const read = 'await readFile(new URL(name, folder), "utf8")';
  return {
    ...mutant,
    file: "store-postgres/src/migrations.ts",
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
