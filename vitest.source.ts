import { join } from "node:path";
import type { ViteUserConfig } from "vitest/config";

/** The packages' `exports` lead to their sources under this condition. */
const condition = "scrollback-source";
const execArgv = [`--conditions=${condition}`];

/** The part of a project's configuration with which tests, and the processes that they start, need no build. */
export const fromSource = {
  resolve: { conditions: [condition] },
  ssr: { resolve: { conditions: [condition] } },
} satisfies ViteUserConfig;

/** The same for the processes of the tests. */
export const processesFromSource = {
  execArgv,
  env: {
    // A process that a test starts would strip the types of a hundred modules again.
    NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.cache/compile"),
    NODE_OPTIONS: [...new Set([...(process.env.NODE_OPTIONS ?? "").split(" "), ...execArgv])]
      .join(" ")
      .trim(),
  },
} satisfies ViteUserConfig["test"];
