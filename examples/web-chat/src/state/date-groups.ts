import type { ChatSummary } from "../api.ts";

const DAY_MS = 86_400_000;

/** Chats in the given order, under headings by the age of their last activity. */
export function groupByDate(
  chats: readonly ChatSummary[],
  now = new Date(),
): { heading: string; chats: ChatSummary[] }[] {
  const today = new Date(now).setHours(0, 0, 0, 0);
  const limits: readonly [number, string][] = [
    [today, "Today"],
    [today - DAY_MS, "Yesterday"],
    [today - 7 * DAY_MS, "Last seven days"],
    [today - 30 * DAY_MS, "Last thirty days"],
  ];
  const groups = new Map<string, ChatSummary[]>();
  for (const chat of chats) {
    const heading = limits.find(([start]) => chat.activeAt >= start)?.[1] ?? "Older";
    groups.set(heading, [...(groups.get(heading) ?? []), chat]);
  }
  return [...groups].map(([heading, members]) => ({ heading, chats: members }));
}
