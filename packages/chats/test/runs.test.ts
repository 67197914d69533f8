import { createMemoryStores, createStores, MemoryDriver } from "@scrollback/store-core";
import { expect, test } from "vitest";
import { message, storeError, textsIn } from "../src/contract/values.ts";
import { ChatStore } from "../src/index.ts";

const answer = (id: string) => message(id, "assistant");

async function withRun() {
  const mine = new ChatStore({ stores: createMemoryStores() }).of("ada");
  const messages = [message("q0"), answer("a0"), message("q")];
  await mine.create({ id: "c", messages });
  const run = await mine.begin("c", { nothing: true }, { messageId: "a" });
  return { mine, run };
}
type Mine = Awaited<ReturnType<typeof withRun>>["mine"];

const drops: Record<string, (mine: Mine) => Promise<unknown>> = {
  "edit, same id": (mine) => mine.edit("c", "q", message("q", "user", "other")),
  edit: (mine) => mine.edit("c", "q0", message("q1", "user", "other")),
  truncate: (mine) => mine.truncate("c", { from: "q" }),
  dropAnswer: (mine) => mine.dropAnswer("c", "a0"),
};
for (const [name, drop] of Object.entries(drops))
  test(`${name} before the first save of a run ends the run: its answer is not stored behind other messages`, async () => {
    const { mine, run } = await withRun();
    const made = await drop(mine);
    expect(made).not.toHaveProperty("run");
    expect(run.signal.aborted).toBe(true);
    const texts = await textsIn(mine as never, "c");
    const result = { message: answer("a"), status: "complete" } as const;
    await expect(run.end(result)).rejects.toMatchObject(storeError("CONFLICT"));
    expect(await textsIn(mine as never, "c")).toEqual(texts);
  });

test("appends and upserts do not end a run", async () => {
  const { mine, run } = await withRun();
  await mine.upsert("c", message("q", "user", "other"));
  await mine.append("c", [message("later")]);
  await run.end({ message: answer("a"), status: "complete" });
  expect(await textsIn(mine as never, "c")).toEqual(["q0", "a0", "other", "later", "a"]);
});

test("a message with the id of the pending answer is refused, not overwritten", async () => {
  const { mine, run } = await withRun();
  await expect(mine.append("c", [message("a")])).rejects.toMatchObject(storeError("CONFLICT", /new id/));
  await run.end({ message: answer("a"), status: "complete" });
  expect(await textsIn(mine as never, "c")).toEqual(["q0", "a0", "q", "a"]);
});

test("a save that loses to other writers again and again fails with UNAVAILABLE, and the run goes on", async () => {
  let isLosing = false;
  const driver = new MemoryDriver();
  const commit = driver.commit.bind(driver);
  driver.commit = async (request) =>
    isLosing && request.threadId.split(":")[1] === "chat"
      ? { outcome: "revision-conflict", revision: null }
      : await commit(request);
  const mine = new ChatStore({ stores: createStores(driver) }).of("ada");
  await mine.create({ id: "c", messages: [message("q")] });
  const run = await mine.begin("c", { nothing: true }, { messageId: "a" });
  run.update(answer("a"));
  isLosing = true;
  await expect(run.save()).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true });
  isLosing = false;
  expect(run.signal.aborted).toBe(false);
  await run.end({ message: answer("a"), status: "complete" });
  expect(await textsIn(mine as never, "c")).toEqual(["q", "a"]);
});
