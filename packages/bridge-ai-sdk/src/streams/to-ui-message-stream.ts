import { StoreError } from "@scrollback/store-core";
import * as ai from "ai";

// Importing a name that `ai` 6 does not export would fail with an error of the module loader, which names no version.
if (ai.toUIMessageStream === undefined)
  throw new StoreError("UNSUPPORTED", "@scrollback/bridge-ai-sdk: needs ai ^7.0.173; run: npm install ai@7");

export const toUIMessageStream = ai.toUIMessageStream;
