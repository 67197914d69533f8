import { defineConfig } from "vitest/config";
import { MatrixReporter } from "../../src/reporter.ts";

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.fixture.ts"],
    reporters: [new MatrixReporter({ file: process.env.FIXTURE_MATRIX ?? "" })],
  },
});
