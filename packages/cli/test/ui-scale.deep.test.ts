import { expect, test } from "vitest";
import { startBrowser } from "../../../test/browser.ts";
import type { MessageRows, ThreadRows } from "../src/ui/api-types.ts";
import { startUi } from "./inspector.ts";
import { Folder } from "./run.ts";

const COUNT = 100_000;
/** A reader notices no more than this; a busy machine takes some times as long as a quiet one. */
const SOON_MS = 2_000;

test("100,000 threads, and a thread of 100,000 messages, on SQLite", async () => {
  using folder = new Folder();
  await using stores = folder.stores();
  for (let start = 0; start < COUNT; start += 200)
    await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        stores.open(`thread-${start + i}`).commit({
          append: [{ role: "user", content: "Hello" }],
          metadata: { title: `Title ${start + i}` },
        }),
      ),
    );
  for (let start = 0; start < COUNT; start += 500)
    await stores.open("long").addMessages(
      Array.from({ length: 500 }, (_, i) => ({
        role: "user" as const,
        content: `Number ${start + i + 1}`,
      })),
    );
  await using ui = await startUi(folder.url());
  const times: Record<string, number> = {};
  const timed = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
    const begin = performance.now();
    const done = await work();
    times[what] = Math.round(performance.now() - begin);
    return done;
  };
  const page = (query: object) => ui.json<MessageRows>("/api/messages", { id: "long", limit: 100, ...query });
  await ui.cookie();
  const first = await timed("first threads", () => ui.json<ThreadRows>("/api/threads"));
  expect(first.threads).toHaveLength(500);
  const newest = await timed("newest messages", () => page({}));
  await timed("older messages", () => page({ before: newest.older }));
  const oldest = await timed("oldest messages", () => page({ first: newest.revision }));
  expect(oldest.messages[0]?.blocks?.[0]?.body?.text).toBe("Number 1");
  await timed("head", () => ui.json("/api/thread", { id: "long" }));
  // A search says where it has stopped, and goes on from there.
  let cursor: string | undefined;
  let found: string[] = [];
  let longest = 0;
  await timed("search of all threads", async () => {
    do {
      const begin = performance.now();
      const query = { query: "title 77777", ...(cursor !== undefined && { cursor }) };
      const part: ThreadRows = await ui.json("/api/threads", query);
      longest = Math.max(longest, performance.now() - begin);
      found = [...found, ...part.threads.map(({ threadId }) => threadId)];
      cursor = part.cursor;
    } while (cursor !== undefined);
  });
  expect(found).toEqual(["thread-77777"]);
  times["longest request of it"] = Math.round(longest);
  const verified = await timed("verify of the long thread", () => ui.json("/api/verify", { id: "long" }));
  expect(verified).toMatchObject({ outcome: "readable", messages: COUNT });

  await using fresh = await startUi(folder.url());
  await using browser = await startBrowser();
  const { page: shown, errors } = await browser.visit("about:blank", {
    viewport: { width: 1_280, height: 800 },
  });
  await timed("page with the first threads", async () => {
    await shown.goto(fresh.url);
    await shown.getByRole("option").first().waitFor();
  });
  const list = shown.getByRole("listbox");
  await timed("scrolling through all threads", async () => {
    while (!(await shown.getByText("100,001 threads").isVisible())) await list.press("End");
  });
  await list.press("End");
  expect(await shown.getByRole("option").last().getAttribute("aria-posinset")).toBe("100001");
  expect(await shown.getByRole("option").count()).toBeLessThan(40);
  await timed("a key at the end of 100,000 threads", () => list.press("ArrowUp"));
  await shown.getByRole("searchbox").fill("long");
  while (!(await shown.getByText("1 thread found in 100,001").isVisible()))
    await shown
      .getByRole("button", { name: "Search further" })
      .click({ timeout: 500 })
      .catch(() => undefined);
  await timed("opening the long thread", async () => {
    await shown.getByRole("option").first().click();
    await shown.getByText("Number 100000", { exact: true }).waitFor();
  });
  const feed = shown.getByRole("feed");
  await timed("scrolling up through 20,000 messages", async () => {
    while (
      !(await shown
        .getByText(/^Number 80\d{3}$/)
        .first()
        .isVisible())
    ) {
      await feed.evaluate((one: unknown) => {
        (one as { scrollTop: number }).scrollTop = 0;
      });
      await shown.waitForTimeout(10);
    }
  });
  expect(await shown.getByRole("article").count()).toBeLessThan(40);
  await timed("jump to the oldest message", async () => {
    await shown.getByRole("button", { name: "Oldest" }).click();
    await shown.getByText("Number 1", { exact: true }).waitFor();
  });
  console.log(times);
  expect(errors).toEqual([]);
  const patient = ["search of all threads", "verify of the long thread"];
  const slow = Object.entries(times).filter(
    ([what, ms]) => ms > SOON_MS && !patient.includes(what) && !what.startsWith("scrolling"),
  );
  expect(slow).toEqual([]);
}, 600_000);
