/** The chat in memory. On Cloudflare Workers the answer to a request, else printed. */
import { createMemoryStores } from "@scrollback/store-core";
import { chatOn } from "./program.ts";

export default {
  fetch: async (): Promise<Response> => Response.json([await chatOn(createMemoryStores())]),
};
