import assert from "node:assert/strict";
import { tracingChannel } from "node:diagnostics_channel";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createMemoryStores } from "@scrollback/store-core";
import { createSqliteStores } from "@scrollback/store-sqlite";
import {
  type ChatContestant,
  type ChatText,
  TABS_OWNER,
  type TabContestant,
} from "../src/chats/contestant.ts";
import { measureDeltas } from "../src/chats/deltas.ts";
import { fileRecipe } from "../src/chats/file-recipe.ts";
import { mastraChats } from "../src/chats/mastra.ts";
import { countRequests } from "../src/chats/requests.ts";
import { scrollbackChats } from "../src/chats/scrollback.ts";
import { tables } from "../src/chats/tables.ts";
import { measureTabs } from "../src/chats/tabs.ts";
import { turnOf } from "../src/chats/turns.ts";
import { measureInTurn } from "../src/chats/windows.ts";

// As in the benchmark: nothing else observes the stores.
process.env.OTEL_SDK_DISABLED = "true";
const folder = mkdtempSync(join(tmpdir(), "scrollback-bench-chats-"));
after(() => rmSync(folder, { recursive: true, force: true }));
const signal = AbortSignal.timeout(60_000);
const path = (name: string) => join(folder, name);

const contestants: Readonly<Record<string, () => ChatContestant | Promise<ChatContestant>>> = {
  tables: () => tables(path("tables.db")),
  Scrollback: () => scrollbackChats(createSqliteStores({ url: `sqlite:${path("chats.db")}` })),
  Mastra: () => mastraChats(path("mastra.db")),
};

for (const [name, open] of Object.entries(contestants)) {
  test(`${name}: a turn is stored whole and once, and its chat is first in the list`, async () => {
    const contestant = await open();
    try {
      await contestant.fill(TABS_OWNER, ["c1", "c2", "c3"]);
      await contestant.fill("another", ["d1"]);
      assert.deepEqual(await contestant.list(TABS_OWNER, 2), ["c3", "c2"]);
      const { question, answer } = turnOf(0);
      await sleep(2);
      await contestant.storeTurn(TABS_OWNER, "c1", turnOf(0));
      assert.deepEqual(await contestant.list(TABS_OWNER, 3), ["c1", "c3", "c2"]);
      const texts = (await contestant.read("c1")).map(({ role, content }) => [role, content]);
      assert.deepEqual(texts, [
        ["user", "c1"],
        ["user", question.content],
        ["assistant", answer.content],
      ]);
    } finally {
      await contestant.close();
    }
  });
}

test("the drafts of a turn are prefixes of its answer", () => {
  const { question, drafts, answer } = turnOf(3);
  assert.notEqual(question.content, "");
  assert.equal(drafts.length, 2);
  for (const { id, content } of drafts) {
    assert.equal(id, answer.id);
    assert.ok(content.length > 0 && content.length < answer.content.length);
    assert.ok(answer.content.startsWith(content));
  }
});

test("requests to the index are counted", async () => {
  const ours = scrollbackChats(createMemoryStores());
  try {
    await ours.fill(TABS_OWNER, ["c1", "c2"]);
    assert.equal(await countRequests(() => ours.list(TABS_OWNER, 2)), 1);
  } finally {
    await ours.close();
  }
});

test("requests are counted only during the work", async () => {
  const store = createMemoryStores().open("counted");
  const write = () => store.addMessages([{ role: "user", content: "hello" }]);
  await write();
  const count = await countRequests(async () => {
    await write();
    await store.listMessages();
  });
  await write();
  assert.equal(count, 2);
  assert.equal(await countRequests(async () => undefined), 0);
  for (const name of ["scrollback:commit", "scrollback:read"]) {
    assert.equal(tracingChannel(name).start.hasSubscribers, false, "nothing observes the timed calls");
  }
});

/** Keeps all messages, and then changes them as requested. */
function keeping(spoil: (messages: ChatText[]) => ChatText[]): TabContestant {
  const chats = new Map<string, ChatText[]>();
  return {
    create: async (chatId) => chats.set(chatId, []),
    append: async (chatId, message) => chats.get(chatId)?.push(message),
    read: async (chatId) => spoil(chats.get(chatId) ?? []),
    close: async () => undefined,
  };
}

test("a tab's message counts as kept if it is stored once and unchanged", async () => {
  const rows = await measureTabs(
    [
      ["all", keeping((messages) => messages)],
      ["one lost", keeping((messages) => messages.slice(1))],
      ["one twice", keeping((messages) => [...messages, ...messages.slice(0, 1)])],
      ["one changed", keeping(([first, ...rest]) => (first ? [{ ...first, content: "" }, ...rest] : []))],
      [
        "unreadable",
        keeping(() => {
          throw new SyntaxError("half a file");
        }),
      ],
    ],
    2,
    signal,
  );
  assert.deepEqual(
    rows.map(({ name, tabs, rounds, fewestKept, mostKept }) => [name, tabs, rounds, fewestKept, mostKept]),
    [
      ["all", 40, 2, 40, 40],
      ["one lost", 40, 2, 39, 39],
      ["one twice", 40, 2, 39, 39],
      ["one changed", 40, 2, 39, 39],
      ["unreadable", 40, 2, 0, 0],
    ],
  );
});

test("the file recipe loses messages of concurrent tabs, Scrollback loses none", async () => {
  const ours = scrollbackChats(createSqliteStores({ url: `sqlite:${path("tabs.db")}` }));
  try {
    const [files, chats] = await measureTabs(
      [
        ["files", fileRecipe(path("files"))],
        ["Scrollback", ours],
      ],
      1,
      signal,
    );
    assert.ok(files && files.mostKept < 40);
    assert.equal(chats?.fewestKept, 40);
  } finally {
    await ours.close();
  }
});

test("contestants alternate, the first window is discarded, and processor time includes the flush after a call", async () => {
  const order: string[] = [];
  const busy = (ms: number) => {
    for (const end = performance.now() + ms; performance.now() < end; );
  };
  const contestant = <Name extends string>(name: Name, inCall: number, inFlush: number) => ({
    name,
    prepare: () => async () => busy(inCall),
    async flush() {
      order.push(name);
      busy(inFlush);
    },
  });
  const results = await measureInTurn(
    [contestant("in the call", 20, 0), contestant("behind it", 1, 100)],
    { windowMs: 5, windows: 3 },
    signal,
  );
  assert.equal(order.length, 8);
  for (let window = 0; window < 4; window++) {
    assert.deepEqual(order.slice(2 * window, 2 * window + 2).toSorted(), ["behind it", "in the call"]);
  }
  assert.equal(results["in the call"].calls, 3);
  const { calls, cpuMicros } = results["behind it"];
  // Less than the elapsed time, because other processes use the processors too.
  assert.ok(calls * cpuMicros > 30_000, `${calls} calls of ${cpuMicros} µs`);
});

test("both routes stream every delta, and the cost of a delta is the difference of the two lengths", async () => {
  await using stores = createSqliteStores({ url: `sqlite:${path("deltas.db")}` });
  const { short, long, plain, handler } = await measureDeltas(stores, { windowMs: 50, windows: 1 }, signal);
  for (const { answers, shortCpuMicros, longCpuMicros, deltaCpuMicros } of [plain, handler]) {
    assert.ok(answers > 0 && shortCpuMicros > 0);
    const difference = (longCpuMicros - shortCpuMicros) / (long - short);
    assert.ok(Math.abs(deltaCpuMicros - difference) < 0.01 * Math.abs(difference));
  }
});
