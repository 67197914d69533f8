/** `node examples/cloudflare/start.ts`: runs the example on this machine, in Cloudflare's runtime, with its data in `.data`. */
import { join } from "node:path";
import { type BuildOptions, build } from "esbuild";
import { Miniflare } from "miniflare";

const html = `<!doctype html>
<html lang="en">
  <head><meta charset="utf-8" /><title>Scrollback on Cloudflare</title></head>
  <body><div id="root"></div><script type="module" src="/page.js"></script></body>
</html>`;

async function bundle(file: string, options: BuildOptions): Promise<string> {
  const { outputFiles } = await build({
    ...{ entryPoints: [join(import.meta.dirname, file)], bundle: true, format: "esm", write: false },
    ...{ target: "es2024", logLevel: "error", ...options },
  });
  return outputFiles?.[0]?.text ?? "";
}

/**
 * @param port 0: a free one.
 * @param folder for the files of the objects.
 */
export async function start({ port, folder }: { port: number; folder: string }): Promise<Miniflare> {
  const [worker, page] = await Promise.all([
    bundle("worker.ts", {
      platform: "node",
      conditions: ["scrollback-source", "workerd", "worker", "browser"],
      external: ["cloudflare:workers"],
      // Some packages of the AI SDK call `require`.
      banner: {
        js: 'import { createRequire as cr } from "node:module"; const require = cr("file:///worker.mjs");',
      },
    }),
    bundle("page/page.tsx", {
      platform: "browser",
      jsx: "automatic",
      conditions: ["scrollback-source"],
      define: { "process.env.NODE_ENV": '"production"' },
    }),
  ]);
  return new Miniflare({
    modules: [{ type: "ESModule", path: "worker.mjs", contents: worker }],
    compatibilityDate: "2026-07-30",
    compatibilityFlags: ["nodejs_compat"],
    durableObjects: { CHATS: { className: "UserChats", useSQLite: true } },
    durableObjectsPersist: folder,
    // As the static assets of `wrangler.jsonc`.
    serviceBindings: {
      ASSETS: async (request: { readonly url: string }) =>
        new URL(request.url).pathname === "/page.js"
          ? new Response(page, { headers: { "content-type": "text/javascript" } })
          : new Response(html, { headers: { "content-type": "text/html" } }),
    },
    host: "127.0.0.1",
    port,
  });
}

if (import.meta.main) {
  const miniflare = await start({
    port: Number(process.env.PORT ?? 8787),
    folder: join(import.meta.dirname, ".data"),
  });
  console.log(`the chat is at ${await miniflare.ready}`);
}
