import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";

const run = promisify(execFile);
const repository = join(import.meta.dirname, "../../..");

/** Prints whether the API is installed and which channels have subscribers, then writes and reads with and without one. */
const program = `
import { createRequire } from "node:module";
import { tracingChannel } from "node:diagnostics_channel";
import { createMemoryStores } from "@scrollback/store-core";

const commits = tracingChannel("scrollback:commit");
const store = createMemoryStores().open("t");
const isInstalled = (() => {
  try {
    return Boolean(createRequire(import.meta.url).resolve("@opentelemetry/api"));
  } catch {
    return false;
  }
})();
// As another copy of the API leaves it.
if (process.env.SCROLLBACK_REGISTRY) globalThis[Symbol.for("opentelemetry.js.api.1")] = { version: "1.9.0" };
if (process.env.SCROLLBACK_PROVIDER) {
  const { metrics, ProxyTracerProvider, trace } = createRequire(import.meta.url)("@opentelemetry/api");
  trace.setGlobalTracerProvider(new ProxyTracerProvider().getDelegate());
  if (process.env.SCROLLBACK_PROVIDER === "broken")
    metrics.setGlobalMeterProvider({
      getMeter() {
        throw new Error("broken");
      },
    });
}
await store.addMessages([{ role: "user", content: "one" }]);
const said = { isInstalled, isHeard: commits.hasSubscribers, calls: [] };
commits.subscribe({ asyncEnd: (call) => said.calls.push(call.method + " " + call.messages) });
await store.addMessages([{ role: "user", content: "two" }]);
said.contents = (await store.listMessages()).map(({ content }) => content);
console.log(JSON.stringify(said));
`;

let folder = "";
const modules = () => join(folder, "node_modules");

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "scrollback-spans-"));
  const copy = join(modules(), "@scrollback/store-core");
  await mkdir(copy, { recursive: true });
  // A copy, because Node.js would resolve packages beside the target of a link.
  await cp(join(import.meta.dirname, "../dist"), join(copy, "dist"), { recursive: true });
  await cp(join(import.meta.dirname, "../package.json"), join(copy, "package.json"));
  await writeFile(join(folder, "main.mjs"), program);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function link(name: string): Promise<void> {
  await mkdir(dirname(join(modules(), name)), { recursive: true });
  await symlink(join(repository, "node_modules", name), join(modules(), name));
}

async function outcome(environment: NodeJS.ProcessEnv = {}): Promise<unknown> {
  // The copy has what is published, not the sources.
  const env = { ...process.env, NODE_OPTIONS: "", ...environment };
  const { stdout } = await run(process.execPath, ["main.mjs"], { cwd: folder, env });
  return JSON.parse(stdout);
}

const works = { calls: ["addMessages 1"], contents: ["one", "two"] };

test("without @opentelemetry/api there is no subscriber, and stores and channels work", async () => {
  expect(await outcome()).toEqual({ isInstalled: false, isHeard: false, ...works });
});

test("stores and channels work if @opentelemetry/api cannot be loaded", async () => {
  const broken = join(modules(), "@opentelemetry/api");
  await mkdir(broken, { recursive: true });
  await writeFile(join(broken, "index.js"), `throw new Error("broken");`);
  expect(await outcome({ SCROLLBACK_REGISTRY: "1" })).toEqual({
    ...{ isInstalled: true, isHeard: false },
    ...works,
  });
  await rm(broken, { recursive: true });
});

test("with @opentelemetry/api there is a subscriber once a tracer provider is registered, and none if it is disabled", async () => {
  await link("@opentelemetry/api");
  expect(await outcome()).toEqual({ isInstalled: true, isHeard: false, ...works });
  const provided = { SCROLLBACK_PROVIDER: "1" };
  expect(await outcome(provided)).toEqual({ isInstalled: true, isHeard: true, ...works });
  const hasBroken = { SCROLLBACK_PROVIDER: "broken" };
  expect(await outcome(hasBroken)).toEqual({ isInstalled: true, isHeard: true, ...works });
  const isDisabled = { ...provided, OTEL_SDK_DISABLED: "True" };
  expect(await outcome(isDisabled)).toEqual({ isInstalled: true, isHeard: false, ...works });
});
