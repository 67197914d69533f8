import { createStores, MemoryDriver } from "@scrollback/store-core/driver";
import { expect, test } from "vitest";
import { KeptDriver } from "../../../conformance-tests/test/fixtures/kept-driver.ts";
import { wrappedIndex } from "../../../conformance-tests/test/fixtures/wrapped-index.ts";
import { ChatStore } from "../src/index.ts";
import { dialogue, message, storeError, textsIn } from "./contract/values.ts";

/** Dies after a number of writes; with `isAnswerLost`, after the last one was made. */
class MortalDriver extends KeptDriver {
  writesLeft = Number.POSITIVE_INFINITY;
  isAnswerLost = false;
  override readonly index = wrappedIndex(new MemoryDriver().index, (verb, run) =>
    verb === "listEntries" || verb === "entriesOf" || verb === "listIndexes" ? run() : this.#write(run),
  );
  override readonly watch = undefined;

  override async commit(...args: Parameters<MemoryDriver["commit"]>) {
    return await this.#write(() => super.commit(...args));
  }

  override async delete(...args: Parameters<MemoryDriver["delete"]>) {
    return await this.#write(() => super.delete(...args));
  }

  async #write<T>(run: () => Promise<T>): Promise<T> {
    const isLast = this.writesLeft <= 0;
    this.writesLeft -= 1;
    if (isLast && !this.isAnswerLost) throw new Error("the process died");
    // A dead process writes nothing after its last write.
    if (this.writesLeft < -1) throw new Error("the process died");
    const made = await run();
    if (isLast) throw new Error("the process died");
    return made;
  }
}

const move = { from: "ada", to: "bob" };

async function setUp() {
  const driver = new MortalDriver();
  const connect = () =>
    new ChatStore<ReturnType<typeof message>>({ stores: createStores(driver), onError: () => undefined });
  const first = connect();
  await first.of("ada").create({ id: "c", title: "Rome", messages: dialogue("q", "a") });
  await first.flush();
  return { driver, connect };
}

for (const isAnswerLost of [false, true])
  test(`a move that dies at any write loses nothing, and the same call finishes it (${isAnswerLost ? "after" : "before"} the write)`, async () => {
    let isFinished = false;
    for (let writes = 0; !isFinished; writes++) {
      expect(writes).toBeLessThan(50);
      const { driver, connect } = await setUp();
      Object.assign(driver, { writesLeft: writes, isAnswerLost });
      const dying = connect();
      const outcome = await dying.move("c", move).then(
        () => "moved",
        () => "died",
      );
      isFinished = outcome === "moved" && driver.writesLeft >= 0;
      driver.writesLeft = Number.POSITIVE_INFINITY;
      const chats = connect();
      const texts = [await textsIn(chats.of("ada"), "c"), await textsIn(chats.of("bob"), "c")];
      expect(texts, `after ${writes} writes`).toContainEqual(["q", "a"]);
      expect(await chats.move("c", move)).toMatchObject({ id: "c", title: "Rome", messageCount: 2 });
      expect(await textsIn(chats.of("bob"), "c")).toEqual(["q", "a"]);
      expect(await chats.of("ada").get("c")).toBeUndefined();
      expect((await chats.of("ada").list()).chats).toEqual([]);
      expect((await chats.of("bob").list()).chats).toMatchObject([{ id: "c", title: "Rome" }]);
    }
  });

test("during a move the old owner reads the chat and cannot change it; a move that is refused gives it back", async () => {
  const { driver, connect } = await setUp();
  driver.writesLeft = 2;
  await expect(connect().move("c", move)).rejects.toThrow();
  driver.writesLeft = Number.POSITIVE_INFINITY;
  const chats = connect();
  const mine = chats.of("ada");
  expect(await textsIn(mine, "c")).toEqual(["q", "a"]);
  expect(JSON.stringify([await mine.get("c"), await mine.list(), await mine.export("c")])).not.toContain(
    "movesTo",
  );
  const writes = [
    () => mine.append("c", [message("q2")]),
    () => mine.update("c", { title: "Other" }),
    () => mine.begin("c", { append: [message("q2")] }),
    () => chats.move("c", { from: "ada", to: "eve" }),
  ];
  for (const write of writes) await expect(write()).rejects.toMatchObject(storeError("CONFLICT", /moved/));
  expect(await mine.stop("c")).toBe(false);
  await chats.of("bob").delete("c");
  await chats.of("bob").create({ id: "c", title: "Bob's" });
  await expect(chats.move("c", move)).rejects.toMatchObject(storeError("CONFLICT", /taken/));
  await mine.append("c", [message("q2")]);
  expect(await textsIn(mine, "c")).toEqual(["q", "a", "q2"]);
  expect(await chats.of("bob").get("c")).toMatchObject({ title: "Bob's" });
});
