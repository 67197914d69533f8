import { join } from "node:path";
import { defineConfig, type Plugin } from "vitest/config";
import { fromSource } from "../../vitest.source.ts";
import { mutated, type SourceMutant, sourceMutants, titleOf } from "./source-mutants.ts";

const root = join(import.meta.dirname, "../..");
/** Their backends, separated by commas. */
const { MUTANT_BACKENDS = "" } = process.env;
const mutants = sourceMutants.filter(({ backend }) => MUTANT_BACKENDS.split(",").includes(backend));

/** Applies a mutant when the source is loaded. */
function mutate(mutant: SourceMutant): Plugin {
  const loaded = join(root, "packages", mutant.file);
  return {
    name: "mutate",
    enforce: "pre",
    transform(code, id) {
      if (id.split("?")[0] !== loaded) return undefined;
      return { code: mutated(code, mutant), map: null };
    },
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
