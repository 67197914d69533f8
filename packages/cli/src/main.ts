#!/usr/bin/env node
// Imported here, so that an unsuitable installation or Node.js is reported in a sentence, without a stack trace.
import("./run-process.ts").catch((error: unknown) => {
  process.stderr.write(`scrollback: ${error instanceof Error ? error.message : "cannot be loaded"}\n`);
  process.exitCode = 2;
});

export {};
