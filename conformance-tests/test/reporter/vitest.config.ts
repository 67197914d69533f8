import { defineConfig } from "vitest/config";
import { fromSource } from "../../../vitest.source.ts";
import { MatrixReporter } from "../../src/reporter.ts";

export default defineConfig({
  ...fromSource,
  test: {
    root: import.meta.dirname,
    include: ["*.fixture.ts"],
    reporters: [new MatrixReporter({ file: process.env.FIXTURE_MATRIX ?? "" })],
  },
});
