import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startServer } from "./server-process.ts";

const root = join(import.meta.dirname, "../..");

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}

test.concurrent.each(["express.ts", "hono.ts", "fastify.ts"])(
  "%s serves the chat handler",
  async (program) => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}/api`;
    await using _ = await startServer([join(root, "examples/servers", program)], {
      env: { PORT: String(port), DATABASE_URL: "sqlite::memory:" },
      address: () =>
        fetch(url).then(
          () => url,
          () => undefined,
        ),
    });
    const headers = { "x-user": "ada", "content-type": "application/json" };
    const message = { id: "m1", role: "user", parts: [{ type: "text", text: "Hi" }] };
    const body = JSON.stringify({ id: "c1", message });
    const asked = await fetch(`${url}/chat`, { method: "POST", headers, body });
    expect(asked.headers.get("content-type")).toContain("text/event-stream");
    expect(await asked.text()).toContain("Hello there.");
    const listed = await fetch(`${url}/chats?limit=5`, { headers });
    expect(await listed.json()).toMatchObject({ chats: [{ id: "c1", messageCount: 2 }] });
    expect((await fetch(`${url}/chats`)).status).toBe(401);
  },
);

test.each([
  ["docs/how-to/ai-sdk.md", "examples/servers"],
  ["docs/how-to/nextjs.md", "examples/nextjs"],
])("the files on %s are those of %s", async (page, example) => {
  const text = await readFile(join(root, page), "utf8");
  const blocks = [...text.matchAll(/^```(?:typescript|tsx) (\S+)\n(.*?)^```/gms)];
  expect(blocks.length).toBeGreaterThan(1);
  for (const [, path = "", code] of blocks)
    expect(await readFile(join(root, example, path), "utf8"), path).toBe(code);
});
