import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";

const folder = join(import.meta.dirname, "../servers");

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** The address of a program of that folder, once it listens. */
async function start(program: string) {
  const port = await freePort();
  const env = { ...process.env, PORT: String(port), DATABASE_URL: "sqlite::memory:" };
  const child = spawn(process.execPath, [join(folder, program)], { env, stdio: "inherit" });
  const url = `http://127.0.0.1:${port}`;
  const isListening = () => fetch(url).then(Boolean, () => false);
  while (!(await isListening())) {
    if (child.exitCode !== null) throw new Error(`${program} ended`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

test.concurrent.each(["express.ts", "hono.ts", "fastify.ts"])(
  "%s serves the chat handler",
  async (program) => {
    await using server = await start(program);
    const { url } = server;
    const headers = { "x-user": "ada", "content-type": "application/json" };
    const message = { id: "m1", role: "user", parts: [{ type: "text", text: "Hi" }] };
    const asked = await fetch(`${url}/api/chat`, {
      method: "POST",
      headers,
      body: JSON.stringify({ id: "c1", message }),
    });
    expect(asked.headers.get("content-type")).toContain("text/event-stream");
    expect(await asked.text()).toContain("Hello there.");
    const renamed = await fetch(`${url}/api/chats/c1`, {
      method: "PATCH",
      headers,
      body: JSON.stringify({ title: "Greetings" }),
    });
    expect(await renamed.json()).toMatchObject({ id: "c1", title: "Greetings", messageCount: 2 });
    const listed = await fetch(`${url}/api/chats?limit=5`, { headers });
    expect(await listed.json()).toMatchObject({ chats: [{ id: "c1", title: "Greetings" }] });
    expect((await fetch(`${url}/api/chats/c1`, { method: "DELETE", headers })).status).toBe(204);
    expect((await fetch(`${url}/api/chats/c1`, { headers })).status).toBe(404);
    expect((await fetch(`${url}/api/chats`)).status).toBe(401);
  },
);

test.each([
  ["docs/how-to/ai-sdk.md", "examples/servers"],
  ["docs/how-to/nextjs.md", "examples/nextjs"],
])("the files on %s are those of %s", async (page, example) => {
  const root = join(folder, "../..");
  const text = await readFile(join(root, page), "utf8");
  const blocks = [...text.matchAll(/^```(?:typescript|tsx) (\S+)\n(.*?)^```/gms)];
  expect(blocks.length).toBeGreaterThan(1);
  for (const [, path = "", code] of blocks)
    expect(await readFile(join(root, example, path), "utf8"), path).toBe(code);
});
