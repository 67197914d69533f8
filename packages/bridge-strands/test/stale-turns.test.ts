import { createMemoryStores } from "@scrollback/store-core";
import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { Agent, SessionManager } from "@strands-agents/sdk";
import { expect, test } from "vitest";
import { WatchedDriver } from "../../../conformance-tests/test/fixtures/watched-driver.ts";
import { ScrollbackStorage } from "../src/index.ts";
import { EchoModel } from "./echo-model.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const textOf = (found: Uint8Array | null) => found && new TextDecoder().decode(found);
const stale = expect.objectContaining({ code: "CONFLICT", message: expect.stringContaining("key") });

test("of two turns of a session at once one is refused, and the next turn goes on from the other", async () => {
  const stores = createMemoryStores();
  const start = async () => {
    const storage = new ScrollbackStorage({ stores, staleWriter: "reject" });
    const sessionManager = new SessionManager({ sessionId: "ada", storage });
    const agent = new Agent({ model: new EchoModel(), sessionManager, printer: false });
    await agent.initialize();
    return agent;
  };
  await (await start()).invoke("first");
  const [one, two] = [await start(), await start()];
  await one.invoke("one");
  await expect(two.invoke("two")).rejects.toMatchObject({ cause: stale });
  const next = await start();
  await next.invoke("next");
  const texts = next.messages.filter(({ role }) => role === "user").map(({ content }) => content[0]);
  expect(texts).toMatchObject([{ text: "first" }, { text: "one" }, { text: "next" }]);
});

test("a key that another storage has written since it was read or written is not overwritten", async () => {
  const stores = createMemoryStores();
  const open = () => new ScrollbackStorage({ stores, staleWriter: "reject" });
  const [one, two] = [open(), open()];
  expect(await one.read("s/a/new")).toBeNull();
  expect(await two.read("s/a/new")).toBeNull();
  await one.write("s/a/new", bytes("1"));
  await one.write("s/a/new", bytes("2"));
  await expect(two.write("s/a/new", bytes("x"))).rejects.toEqual(stale);
  // It stays refused until the key is read again.
  await expect(two.write("s/a/new", bytes("x"))).rejects.toEqual(stale);
  expect(textOf(await two.read("s/a/new"))).toBe("2");
  await two.write("s/a/new", bytes("3"));
  await expect(one.write("s/a/new", bytes("x"))).rejects.toEqual(stale);
  await one.delete("s/a/new");
  await expect(two.write("s/a/new", bytes("x"))).rejects.toEqual(stale);
  // A key that it has neither read nor written.
  await open().write("s/a/new", bytes("4"));
  expect(textOf(await open().read("s/a/new"))).toBe("4");
});

test("a write whose outcome is unknown stays guarded", async () => {
  const driver = new MemoryDriver();
  const watched = new WatchedDriver(driver);
  const one = new ScrollbackStorage({ stores: createStores(watched), staleWriter: "reject" });
  const other = new ScrollbackStorage({ stores: createStores(driver) });
  await one.write("s/a/k", bytes("1"));
  watched.beforeCommit = async () => {
    throw new Error("lost");
  };
  await expect(one.write("s/a/k", bytes("2"))).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await other.write("s/a/k", bytes("3"));
  await expect(one.write("s/a/k", bytes("4"))).rejects.toEqual(stale);
  expect(textOf(await other.read("s/a/k"))).toBe("3");
});

test("by default the later write wins, and another value of the option is refused", async () => {
  const stores = createMemoryStores();
  const [one, two] = [new ScrollbackStorage({ stores }), new ScrollbackStorage({ stores })];
  await one.write("k", bytes("1"));
  await two.read("k");
  await one.write("k", bytes("2"));
  await two.write("k", bytes("3"));
  expect(textOf(await one.read("k"))).toBe("3");
  expect(() => new ScrollbackStorage({ stores, staleWriter: "x" as never })).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT" }),
  );
});
