import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { streamOf } from "@scrollback/collections/internal";
import type { StoreFactory } from "@scrollback/store-core";
import { expect, test } from "vitest";
import type { DeclareOnBackend } from "../../../conformance-tests/test/fixtures/server-stores.ts";
import type { ChatStreams } from "../src/index.ts";
import { serve, until, user } from "./serve.ts";
import { clockModel, timedWords } from "./streamed.ts";

const WORDS = 150;

/**
 * Declares the test of the delay of an answer on another server. `SCROLLBACK_DELAYS=1` writes the figures.
 *
 * @param connect returns the streams of a server. Default: those of the stores.
 */
export function declareDelayTest(
  backend: string,
  open: () => Promise<StoreFactory>,
  connect?: () => Promise<ChatStreams>,
): void {
  test(`${backend}: words arrive at another server after less than 400 ms in the median, a late listener starts within 1 s, and nothing stays`, async () => {
    const clock = clockModel(40);
    const [mine, theirs] = [await open(), await open()];
    await mine.setup();
    const [near, far] = [await connect?.(), await connect?.()];
    await using one = await serve({ stores: mine, model: clock.model, streams: near ?? "stores" });
    await using other = await serve({ stores: theirs, streams: far ?? "stores" });
    const chatId = randomUUID();
    const thread = theirs.open(streamOf(`chats:chat:ada:${chatId}`));
    const answered = one.post({ id: chatId, message: user("q") });
    await until(async () => (await other.newest(chatId)).includes("assistant"));
    const begun = performance.now();
    let startMs: number | undefined;
    const delays: number[] = [];
    for await (const { delay } of timedWords(await fetch(`${other.url}/api/chat/${chatId}/stream`))) {
      startMs ??= performance.now() - begun;
      delays.push(delay);
      if (delays.length === WORDS) clock.end();
    }
    expect((await answered).status).toBe(200);
    expect(startMs).toBeLessThan(1_000);
    // Those before it listened are older.
    const sorted = delays.slice(WORDS / 3).toSorted((one, other) => one - other);
    const [median = 0, slow = 0] = [0.5, 0.95].map((part) => sorted[Math.floor(sorted.length * part)]);
    expect(median).toBeLessThan(400);
    await until(async () => (await thread.read()).revision === null);
    if (process.env.SCROLLBACK_DELAYS === "1")
      console.log(
        `${backend}: median ${median} ms, 95 % ${slow} ms, a late listener started after ${Math.round(startMs ?? 0)} ms`,
      );
    await Promise.all([mine.close(), theirs.close(), near?.close(), far?.close()]);
  });
}

/** Declares the tests of answers that are read on another server. */
export const declareStreamTests: DeclareOnBackend = (backend, open) => {
  declareDelayTest(backend, open);

  test(`${backend}: a deletion erases the text of a running answer at once`, async () => {
    const clock = clockModel(40);
    const [mine, theirs] = [await open(), await open()];
    await using one = await serve({ stores: mine, model: clock.model, streams: "stores" });
    await using other = await serve({ stores: theirs, streams: "stores" });
    const chatId = randomUUID();
    const thread = theirs.open(streamOf(`chats:chat:ada:${chatId}`));
    const answered = one.post({ id: chatId, message: user("q") });
    await until(async () => (await thread.read({ limit: 0 })).count > 1);
    await other.mine.delete(chatId);
    for (let looks = 0; looks < 8; looks++) {
      expect((await thread.read()).count).toBe(0);
      await sleep(50);
    }
    await answered;
    expect((await thread.read()).count).toBe(0);
    await Promise.all([mine.close(), theirs.close()]);
  });
};
