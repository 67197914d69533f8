#!/usr/bin/env node
// Imported here, so that an installation or a Node.js that does not fit is told in a sentence, not by a stack trace.
import("./run-process.ts").catch((error: unknown) => {
  process.stderr.write(`scrollback: ${error instanceof Error ? error.message : "cannot be loaded"}\n`);
  process.exitCode = 2;
});

export {};
