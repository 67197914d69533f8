import { rounded, type TabsRow } from "../figures.ts";
import { median } from "../statistics.ts";
import type { TabContestant } from "./contestant.ts";

/** The number of tabs that write at once. */
const TABS = 40;

/** Measures how many messages remain when tabs add to one chat at once, through one server. Each round uses a new chat. */
export async function measureTabs(
  contestants: readonly (readonly [string, TabContestant])[],
  rounds: number,
  signal: AbortSignal,
): Promise<TabsRow[]> {
  const rows: { name: string; contestant: TabContestant; kept: number[]; times: number[] }[] =
    contestants.map(([name, contestant]) => ({ name, contestant, kept: [], times: [] }));
  for (let round = 0; round < rounds; round++) {
    for (const { contestant, kept, times } of rows) {
      const chatId = `shared-${round}`;
      await contestant.create(chatId);
      const messages = Array.from({ length: TABS }, (_, tab) => ({
        id: `tab-${tab}`,
        role: "user" as const,
        content: `from tab ${tab}`,
      }));
      const begin = performance.now();
      // A refused message is lost too.
      await Promise.allSettled(messages.map((message) => contestant.append(chatId, message)));
      times.push(performance.now() - begin);
      kept.push(await countKept(contestant, chatId, messages));
      signal.throwIfAborted();
    }
  }
  return rows.map(({ name, kept, times }) => ({
    name,
    tabs: TABS,
    rounds,
    fewestKept: Math.min(...kept),
    mostKept: Math.max(...kept),
    medianMs: rounded(median(times)),
  }));
}

/** The number of these messages in a chat, each counted once; 0 if the chat is no longer readable. */
async function countKept(
  contestant: TabContestant,
  chatId: string,
  messages: readonly { readonly id: string; readonly content: string }[],
): Promise<number> {
  const stored = await contestant.read(chatId).catch(() => []);
  return messages.filter(
    ({ id, content }) => stored.filter((one) => one.id === id && one.content === content).length === 1,
  ).length;
}
