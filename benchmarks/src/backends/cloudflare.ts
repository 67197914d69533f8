import { RawClient } from "../../../packages/store-cloudflare/test/raw-client.ts";
import { openWorkerdStores } from "../../../packages/store-cloudflare/test/stores.ts";
import { Workerd } from "../../../packages/store-cloudflare/test/workerd.ts";
import type { Backend } from "../backend.ts";
import { baseline, rawSqlite } from "./raw-sqlite.ts";

/** Cloudflare's databases in their runtime on this machine, each request over HTTP. */
export async function openCloudflare(kind: "object" | "d1"): Promise<Backend> {
  const workerd = await Workerd.start();
  const url = `http://127.0.0.1:${workerd.port}/${kind}/`;
  return {
    url,
    definition: {
      title: kind === "d1" ? "D1" : "Durable Objects",
      versions: [
        `workerd ${workerd.server.version} under miniflare on this machine, called by Node.js over HTTP: not Cloudflare's service`,
      ],
      baseline: `${baseline}; the same requests over HTTP`,
      raw: (url) => rawSqlite(new RawClient(`${url}raw`)),
      stores(url, maxMessages) {
        const stores = openWorkerdStores(
          `${url}scrollback_`,
          maxMessages === undefined ? {} : { maxMessages },
        );
        return { stores, close: () => stores.close() };
      },
      remove: async () => undefined,
    },
    close: () => workerd.stop(),
  };
}
