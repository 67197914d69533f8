import { expect, test } from "vitest";
import { Timeline } from "../src/observed/timeline.ts";

const seen = (called: number, ...revisions: string[]) =>
  revisions.map((revision, index) => {
    const begin = called + index * 1_000;
    return { revision, isCommit: false, called: begin, returned: begin + 500 };
  });
const thread = { threadId: "t" };

test("a timeline has the commits of each incarnation by their number, and a gap behind it", () => {
  const timeline = new Timeline(seen(0, "a.2", "a.1", "b.1"), thread);
  expect(timeline.revisions).toEqual([null, "a.1", "a.2", null, "b.1", null]);
  expect(timeline.gaps).toEqual([0, 3, 5]);
  expect(timeline.slotOf("a.2")).toBe(2);
});

test("a timeline has revisions with tags as they were observed, and without tags those that nobody observed", () => {
  const timeline = new Timeline(seen(0, "a-1.3-x-_9", "a-1.1-y7", "b.1-z"), thread);
  expect(timeline.revisions).toEqual([null, "a-1.1-y7", "a-1.2", "a-1.3-x-_9", null, "b.1-z", null]);
  expect(timeline.slotOf("a-1.3-x-_9")).toBe(3);
  expect(timeline.slotOf("a-1.3-other")).toBe(0);
});
