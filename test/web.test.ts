import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import { gzipSync } from "node:zlib";
import { jsonCodec } from "@scrollback/store-core";
import { build } from "esbuild";
import { describe, expect, test } from "vitest";
import { values } from "./web/store.ts";

/** A program and all that it imports, without externals, as a bundler makes it for browsers or for Cloudflare Workers. */
async function bundled(program: string, condition: "browser" | "workerd"): Promise<string> {
  const { outputFiles, metafile } = await build({
    stdin: { contents: program, resolveDir: join(import.meta.dirname, "web") },
    bundle: true,
    minify: true,
    platform: "browser",
    target: "es2023",
    format: "iife",
    globalName: "bundle",
    conditions: ["scrollback-source", condition],
    metafile: true,
    write: false,
    logLevel: "silent",
  });
  expect(Object.keys(metafile.inputs).length).toBeGreaterThan(20);
  return outputFiles[0]?.text ?? "";
}

/** Runs a bundle where there is nothing but what browsers and Cloudflare Workers have. */
async function runOnWeb(code: string, call: string): Promise<unknown> {
  const context = createContext({
    ...{
      AbortController,
      AbortSignal,
      TextDecoder,
      TextEncoder,
      URL,
      atob,
      btoa,
      clearTimeout,
      console,
      performance,
    },
    ...{ crypto: { getRandomValues: crypto.getRandomValues.bind(crypto) }, performance, queueMicrotask },
    // As in browsers, timers are numbers.
    setTimeout: (run: () => void, ms: number) => Number(setTimeout(run, ms)),
    setInterval: (run: () => void, ms: number) => Number(setInterval(run, ms)),
    clearInterval,
  });
  const text = await runInContext(`${code};bundle.${call}().then(JSON.stringify)`, context);
  return JSON.parse(text);
}

describe.each(["browser", "workerd"] as const)("bundled for %s, without a module of Node.js", (condition) => {
  test("a store in memory works", async () => {
    const code = await bundled(`export * from "./store.ts"`, condition);
    const { read, ...others } = (await runOnWeb(code, "useStore")) as Record<string, unknown>;
    expect(jsonCodec.decode(String(read))).toEqual({ role: "assistant", content: "", metadata: values });
    expect(others).toEqual({
      isUuid: true,
      isRepeated: true,
      refused: ["INVALID_ARGUMENT", "INVALID_ARGUMENT", "INVALID_ARGUMENT", "ABORTED", "UNSUPPORTED"],
      sequences: [699, 700, 701, 702],
      listed: ["a", "ä", "b"],
      sorted: -1.5,
      roles: ["user", "user"],
    });
  });

  test("chats in memory work", async () => {
    const code = await bundled(`export * from "./chats.ts"`, condition);
    expect(await runOnWeb(code, "useChats")).toEqual({
      messages: ["Which tram?", "Line 8."],
      lists: [["Rome"], []],
    });
  });

  test("a store on documents works", async () => {
    const code = await bundled(`export * from "./documents.ts"`, condition);
    expect(await runOnWeb(code, "useDocuments")).toEqual({ isRepeated: true, isWhole: true, count: 200 });
  });

  test("a store in memory takes at most 24.5 kB, compressed", async () => {
    const code = await bundled(`export { createMemoryStores } from "@scrollback/store-core"`, condition);
    const size = gzipSync(code, { level: 9 }).length;
    console.log(`createMemoryStores for ${condition}: ${size} bytes`);
    expect(size).toBeLessThanOrEqual(24_500);
  });
});
