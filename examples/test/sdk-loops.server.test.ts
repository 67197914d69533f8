import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { startSdkServer } from "./sdk-server.ts";

// The loops of docs/how-to/message-types.md, with the real clients against a server on loopback.

const run = promisify(execFile);
const root = join(import.meta.dirname, "../..");
const page = await readFile(join(root, "docs/how-to/message-types.md"), "utf8");
const loops = [...page.matchAll(/^### ([^\n]+)\n(?:(?!^##).)*?^```ts\n(.*?)^```/gms)].map(
  ([, title = "", code = ""]) => ({ title, code }),
);

test("the page has a loop of each API", () => {
  expect(loops.map(({ title }) => title)).toEqual(["Chat completions", "Responses API", "Anthropic"]);
});

test.concurrent.each(loops)(
  "$title: each request of a chat of many processes has each result with its call",
  async ({ title, code }) => {
    await using server = await startSdkServer();
    const folder = await mkdtemp(join(tmpdir(), "scrollback-sdk-"));
    // Inside the repository, so that the program finds the packages like a user's code.
    const programs = join(root, ".results/sdk-loops");
    const program = join(programs, `${title.replaceAll(" ", "-")}.ts`);
    await mkdir(programs, { recursive: true });
    await writeFile(program, code);
    const env = {
      ...process.env,
      ...{ OPENAI_BASE_URL: server.url, OPENAI_API_KEY: "none" },
      ...{ ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "none" },
    };
    try {
      for (let round = 0; round < 4; round++) {
        const { stdout } = await run(process.execPath, [program], { cwd: folder, env });
        expect(stdout).toBe("Line 4.\nLine 4.\n");
      }
    } finally {
      await rm(folder, { recursive: true });
      await rm(program);
    }
    // Two questions a process, three requests each.
    expect(server.requests).toHaveLength(24);
    expect(server.requests.filter(({ problem }) => problem !== undefined)).toEqual([]);
    // The thread is at its limit: it would have more messages without trimming.
    const lengths = server.requests.map(({ history }) => history.length);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(20);
    expect(lengths.some((length, index) => length < (lengths[index - 1] ?? 0))).toBe(true);
  },
);

const result = {
  "/chat/completions": { messages: [{ role: "tool", tool_call_id: "1", content: "4" }] },
  "/responses": { input: [{ type: "function_call_output", call_id: "1", output: "4" }] },
  "/v1/messages": { messages: [{ role: "user", content: [{ type: "tool_result", tool_use_id: "1" }] }] },
};
test.each(Object.entries(result))("the server refuses a result without its call: %s", async (path, body) => {
  await using server = await startSdkServer();
  const { status } = await fetch(`${server.url}${path}`, { method: "POST", body: JSON.stringify(body) });
  expect(status).toBe(400);
});
