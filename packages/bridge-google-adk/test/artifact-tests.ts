import { randomBytes } from "node:crypto";
import {
  type BaseArtifactService,
  BaseLlm,
  FunctionTool,
  InMemorySessionService,
  LlmAgent,
  type LlmRequest,
  type LlmResponse,
  Runner,
} from "@google/adk";
import type { StoreFactory } from "@scrollback/store-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { countedTests } from "../../../conformance-tests/test/fixtures/framework-tests.ts";
import { GoogleAdkArtifactService } from "../src/index.ts";
import { framework } from "./framework.ts";

/** An image with this content, or of random bytes. */
export function image(content: string | number) {
  const bytes = typeof content === "number" ? randomBytes(content) : Buffer.from(content);
  return { inlineData: { mimeType: "image/png", data: bytes.toString("base64") } };
}

export const newKey = () => ({ appName: crypto.randomUUID(), userId: "ada", sessionId: "rome" });

type Key = ReturnType<typeof newKey>;

/** What each service of ADK does, on two connections. */
export const shared: Record<
  string,
  (one: BaseArtifactService, other: BaseArtifactService, key: Key) => Promise<void>
> = {
  "versions count from 0, and the newest is loaded by default": async (one, other, key) => {
    const own = { ...key, filename: "a.png" };
    const large = image(100_000);
    for (const [version, artifact] of [image("0"), large, image("2")].entries())
      expect(await one.saveArtifact({ ...own, artifact })).toBe(version);
    expect(await other.loadArtifact(own)).toEqual(image("2"));
    expect(await other.loadArtifact({ ...own, version: 0 })).toEqual(image("0"));
    expect(await other.loadArtifact({ ...own, version: 1 })).toEqual(large);
    for (const version of [3, -1, 0.5]) expect(await other.loadArtifact({ ...own, version })).toBeUndefined();
    expect(await other.listVersions(own)).toEqual([0, 1, 2]);
  },
  "what is missing is undefined, or an empty list": async (one, _, key) => {
    const own = { ...key, filename: "a.png" };
    expect(await one.loadArtifact(own)).toBeUndefined();
    expect(await one.loadArtifact({ ...own, version: 0 })).toBeUndefined();
    expect(await one.getArtifactVersion(own)).toBeUndefined();
    expect(await one.listVersions(own)).toEqual([]);
    expect(await one.listArtifactVersions(own)).toEqual([]);
    expect(await one.listArtifactKeys(key)).toEqual([]);
    await one.deleteArtifact(own);
  },
  "artifacts are those of an app, a user and a session, or of all sessions of the user": async (
    one,
    other,
    key,
  ) => {
    const save = (of: Key, filename: string, text: string) =>
      one.saveArtifact({ ...of, filename, artifact: { text } });
    await save(key, "plan/äb c.txt", "rome");
    await save(key, "user:me.txt", "ada");
    await save(key, "a%2Fb.txt", "percent");
    await save({ ...key, sessionId: "oslo" }, "plan/äb c.txt", "oslo");
    await save({ ...key, userId: "bob" }, "user:me.txt", "bob");
    await save({ ...key, appName: `${key.appName}2` }, "app.txt", "other");
    expect(await other.listArtifactKeys(key)).toEqual(["a%2Fb.txt", "plan/äb c.txt", "user:me.txt"]);
    const oslo = { ...key, sessionId: "oslo" };
    expect(await other.listArtifactKeys(oslo)).toEqual(["plan/äb c.txt", "user:me.txt"]);
    expect(await other.listArtifactKeys({ ...key, userId: "bob" })).toEqual(["user:me.txt"]);
    const load = (of: Key, filename: string) => other.loadArtifact({ ...of, filename });
    expect(await load(key, "plan/äb c.txt")).toEqual({ text: "rome" });
    expect(await load(oslo, "plan/äb c.txt")).toEqual({ text: "oslo" });
    expect(await load(oslo, "user:me.txt")).toEqual({ text: "ada" });
    expect(await load(oslo, "me.txt")).toBeUndefined();
    expect(await other.saveArtifact({ ...oslo, filename: "user:me.txt", artifact: { text: "b" } })).toBe(1);
  },
  "each kind of artifact is loaded as it was saved": async (one, other, key) => {
    const own = { ...key, filename: "a" };
    const artifacts = [
      { inlineData: { mimeType: "image/png", data: "AAAA", displayName: "a.png" }, thought: true },
      { inlineData: { mimeType: "text/plain", data: "" } },
      { inlineData: { data: "-_8" } },
      { inlineData: { mimeType: "image/png", data: "A A\nA=", displayName: "x" } },
      { text: "\uFEFFTram 4 \u{1F68B}" },
      { text: "lone \uD800" },
      { text: "line\n".repeat(40_000) },
      { text: `scrollback-file:${"a".repeat(43)}:bytes` },
      { fileData: { fileUri: "gs://b/c.pdf", mimeType: "application/pdf" } },
      { text: "both", inlineData: { mimeType: "image/png", data: "AAAA" } },
    ];
    for (const artifact of artifacts) await one.saveArtifact({ ...own, artifact });
    for (const [version, artifact] of artifacts.entries())
      expect(await other.loadArtifact({ ...own, version })).toEqual(artifact);
  },
  "versions have custom metadata, and the MIME type of files": async (one, other, key) => {
    const own = { ...key, filename: "a.pdf" };
    const fileData = { fileUri: "gs://b/c.pdf", mimeType: "application/pdf" };
    const customMetadata = { by: "guide", nested: { pages: [1, 2] } };
    await one.saveArtifact({ ...own, artifact: { text: "0" } });
    await one.saveArtifact({ ...own, artifact: { fileData }, customMetadata });
    const versions = [{ version: 0 }, { version: 1, customMetadata, mimeType: "application/pdf" }];
    expect(await other.listArtifactVersions(own)).toEqual(versions);
    expect(await other.getArtifactVersion(own)).toEqual(versions[1]);
    expect(await other.getArtifactVersion({ ...own, version: 0 })).toEqual(versions[0]);
    expect(await other.getArtifactVersion({ ...own, version: 2 })).toBeUndefined();
  },
  "a deletion removes all versions, and only those; the next save is version 0": async (one, other, key) => {
    const [a, b] = [
      { ...key, filename: "a" },
      { ...key, filename: "b" },
    ];
    for (const own of [a, a, b]) await one.saveArtifact({ ...own, artifact: image(70_000) });
    await one.deleteArtifact(a);
    expect(await other.listVersions(a)).toEqual([]);
    expect(await other.listArtifactKeys(key)).toEqual(["b"]);
    expect(await other.loadArtifact(b)).toBeDefined();
    expect(await other.saveArtifact({ ...a, artifact: { text: "again" } })).toBe(0);
    expect(await one.loadArtifact(a)).toEqual({ text: "again" });
  },
  "an artifact without a content is refused": async (one, _, key) => {
    for (const artifact of [{}, { text: "" }, { functionCall: { name: "f" } }])
      await expect(one.saveArtifact({ ...key, filename: "a", artifact })).rejects.toThrow(/must have/);
  },
  "8 concurrent saves get the versions 0 to 7, and none is lost": async (one, other, key) => {
    const own = { ...key, filename: "a" };
    const save = async (n: number) => {
      const artifact = image(n < 4 ? 70_000 : 10);
      const version = await (n % 2 ? one : other).saveArtifact({ ...own, artifact });
      return { version, artifact };
    };
    const saved = await Promise.all(Array.from({ length: 8 }, (_, n) => save(n)));
    expect(saved.map(({ version }) => version).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    for (const { version, artifact } of saved)
      expect(await one.loadArtifact({ ...own, version })).toEqual(artifact);
  },
  "tools of an agent save and load artifacts": async (one, other, { appName }) => {
    const photo = image(80_000);
    const key = { appName, userId: "ada", sessionId: "tools" };
    const sessionService = new InMemorySessionService();
    await sessionService.createSession(key);
    const deltas: unknown[] = [];
    const results: unknown[] = [];
    for (const [artifactService, text] of [
      [one, "take_photo"],
      [other, "show_photo"],
    ] as const) {
      const runner = new Runner({ appName, agent: photographer(photo), sessionService, artifactService });
      const newMessage = { role: "user", parts: [{ text }] };
      for await (const { actions, content } of runner.runAsync({ ...key, newMessage })) {
        deltas.push(actions.artifactDelta);
        results.push(...(content?.parts ?? []).flatMap(({ functionResponse }) => functionResponse?.response));
      }
    }
    expect(deltas).toContainEqual({ "photo.png": 0 });
    expect(results.filter(Boolean)).toEqual([
      { version: 0 },
      { names: ["photo.png"], data: photo.inlineData.data },
    ]);
  },
};

/** Calls the tool that the user names. */
class ScriptedModel extends BaseLlm {
  constructor() {
    super({ model: "scripted" });
  }

  override async *generateContentAsync({ contents }: LlmRequest): AsyncGenerator<LlmResponse, void> {
    const { text = "" } = contents.at(-1)?.parts?.[0] ?? {};
    const part = text.endsWith("_photo") ? { functionCall: { name: text, args: {} } } : { text: "Done." };
    yield { content: { role: "model", parts: [part] } };
  }

  override async connect(): Promise<never> {
    throw new Error("it is not live");
  }
}

function photographer(photo: ReturnType<typeof image>): LlmAgent {
  const takePhoto = new FunctionTool({
    name: "take_photo",
    description: "Takes a photo",
    execute: async (_input, context) => ({ version: await context?.saveArtifact("photo.png", photo) }),
  });
  const showPhoto = new FunctionTool({
    name: "show_photo",
    description: "Shows a photo",
    execute: async (_input, context) => {
      const artifact = await context?.loadArtifact("photo.png");
      return { names: await context?.listArtifacts(), data: artifact?.inlineData?.data };
    },
  });
  return new LlmAgent({ name: "guide", model: new ScriptedModel(), tools: [takePhoto, showPhoto] });
}

/** Declares the tests for every backend. It calls `open` twice, for two connections, as in two processes. */
export function declareArtifactTests(backend: string, open: () => Promise<StoreFactory>): void {
  describe(`artifact services on ${backend}`, countedTests(framework, backend), () => {
    const factories: StoreFactory[] = [];
    const services: GoogleAdkArtifactService[] = [];
    beforeAll(async () => {
      const stores = await open();
      await stores.setup();
      factories.push(stores, await open());
      services.push(...factories.map((one) => new GoogleAdkArtifactService({ stores: one })));
    });
    afterAll(async () => {
      for (const service of services) await service.flush();
      for (const stores of factories) await stores.close();
    });
    test.each(Object.entries(shared))("%s", async (_, run) => {
      const [one, other] = services as [GoogleAdkArtifactService, GoogleAdkArtifactService];
      await run(one, other, newKey());
    });
  });
}
