import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { sharedServer } from "@scrollback/conformance/servers";
import { openStores } from "@scrollback/store-core";
import { describe, expect } from "vitest";
import type { SavedState } from "../demo/agent.ts";
import { expectDone, expectPlain, test } from "./demo-runs.ts";

/** The documented time in the deep plan; beside other tests it takes longer. */
const LIMIT_SECONDS = process.env.SCROLLBACK_DEEP === "1" ? 20 : 120;

describe("on SQLite", () => {
  test("runs as documented, twice, and keeps its data for --look", async ({ temp, demo, folders }) => {
    for (let run = 1; run <= 2; run++) {
      const ended = await demo();
      expectDone(ended);
      expect(ended.seconds).toBeLessThan(LIMIT_SECONDS);
      expect(await folders()).toHaveLength(run);
      expect(ended.stdout).toContain("Kept         39 of 235 messages; 196 trimmed");
      const folder = join(temp, (await folders()).find((name) => ended.stdout.includes(name)) ?? "");
      expect(ended.stdout.replaceAll(/\s/g, "")).toContain(`npmrundemo----look${folder}`);
      expect((await readdir(folder)).sort()).toEqual(["chats.db", "state.json"]);

      const again = await demo("--look", folder);
      expect(again.code).toBe(0);
      expectPlain(again.stdout);
      const transcript = /── What is kept.*?(?=\n── )/s.exec(ended.stdout)?.[0];
      expect(again.stdout.trim()).toBe(transcript?.trim());
      expect(again.stdout).toMatch(/ system +You are the operations assistant/);
    }
  });

  test("takes another file, another maxMessages and an existing database", async ({ temp, demo }) => {
    const file = join(temp, "other.jsonl");
    const lines = Array.from({ length: 9 }, (_, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content: `message ${index + 1}`,
    }));
    await writeFile(file, lines.map((line) => JSON.stringify(line)).join("\n"));
    const store = `sqlite:${join(temp, "chats.db")}`;
    const args = ["--file", file, "--store", store, "--max-messages", "4"];
    for (const ended of [await demo(...args), await demo(...args)]) {
      expect(ended.code).toBe(0);
      expect(ended.stdout).toContain("✓ nothing lost or doubled: 9 messages added, the newest is number 9");
      expect(ended.stdout).toContain("Kept         3 of 9 messages; 6 trimmed");
      expect(ended.stdout).toContain("Begins with  number 7, user: message 7");
    }
  });

  test("fails if the store has an unexpected message", async ({ temp, demo, folders }) => {
    const store = `sqlite:${join(temp, "chats.db")}`;
    const running = demo("--store", store);
    // A third process adds a message while process A is running.
    let saved: SavedState | undefined;
    for (let tries = 0; !saved && tries < 1_000; tries++) {
      await sleep(5);
      const [folder = ""] = await folders();
      const text = await readFile(join(temp, folder, "state.json"), "utf8").catch(() => undefined);
      if (text) saved = JSON.parse(text);
    }
    await using stores = await openStores(store);
    await stores.restore(saved?.state).addMessages([{ role: "user", content: "I was never in the file" }]);
    const { code, stdout, stderr } = await running;
    expect(code).toBe(1);
    expect(stdout).toContain("✗ lost or doubled: 235 messages added, but the newest is number 236");
    expect(stderr).toBe("demo: the store does not hold what it must hold: see the lines marked ✗\n");
  });
});

describe("on Redis", () => {
  test("runs as documented, and shows no password", async ({ temp, demo, folders }) => {
    const { host, port } = await sharedServer("redis");
    // The server's default user has no password and accepts any.
    const url = `redis://default:hush-hush@${host}:${port}`;
    const ended = await demo("--store", url);
    expectDone(ended);
    expect(ended.stdout).toContain(`Data         redis://${host}:${port}`);
    expect(ended.stdout).not.toContain("hush");
    const [folder = ""] = await folders();
    const again = await demo("--look", join(temp, folder), "--store", url);
    expect(again.stdout).toMatch(/ system +You are the operations assistant/);
  });
});

describe("unusable arguments are refused before anything starts", () => {
  test.concurrent.for([
    ["an unknown scheme", ["--store", "nonsense:x"], "demo: openStores: url must begin with"],
    ["a store of one process", ["--store", "memory:"], "give a file like sqlite:chats.db"],
    ["no directory", ["--store", "sqlite:/no/such/directory/chats.db"], "create it first"],
    ["an unreachable server", ["--store", "redis://:hush@127.0.0.1:1"], "127.0.0.1:1 (ECONNREFUSED)"],
    ["no such file", ["--file", "/no/such/file.jsonl"], "demo: /no/such/file.jsonl: cannot be read"],
    ["a file of another format", ["--file", "package.json"], "demo: package.json, line 1: "],
    ["an empty file", ["--file", "/dev/null"], "holds no message"],
    ["an invalid number", ["--max-messages", "0"], "maxMessages must be a positive integer"],
    ["an unknown option", ["--stores", "x"], "demo: Unknown option '--stores'\nusage: npm run demo"],
    ["an extra argument", ["x"], "usage: npm run demo"],
    ["no earlier run", ["--look", "/no/such/folder"], "/no/such/folder holds no state.json"],
  ] as const)("%s", async ([, args, problem], { demo, folders }) => {
    const { code, stdout, stderr } = await demo(...args);
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toContain(problem);
    expect(stderr).toMatch(/^demo: /);
    expect(stderr).not.toMatch(/\n +at |hush/);
    expect(await folders()).toEqual([]);
  });
});
