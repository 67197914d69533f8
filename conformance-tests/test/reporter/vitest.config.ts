import { defineConfig } from "vitest/config";
import { MatrixReporter } from "../../src/reporter.ts";
import { fromSource } from "../../../vitest.source.ts";

export default defineConfig({
  ...fromSource,
  test: {
    root: import.meta.dirname,
    include: ["*.fixture.ts"],
    reporters: [new MatrixReporter({ file: process.env.FIXTURE_MATRIX ?? "" })],
  },
});
