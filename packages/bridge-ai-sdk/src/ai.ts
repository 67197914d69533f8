import { StoreError } from "@scrollback/store-core";
import * as ai from "ai";

// Importing a name that `ai` 6 does not export would fail with an error of the module loader, which names no version. The first versions of
// `ai` 6 lack the other two as well.
if (ai.toUIMessageStream === undefined)
  throw new StoreError("UNSUPPORTED", "@scrollback/bridge-ai-sdk: needs ai ^7.0.173; run: npm install ai@7");

export const createDownload = ai.createDownload;
export const toUIMessageStream = ai.toUIMessageStream;
export const UIMessageStreamError = ai.UIMessageStreamError;
