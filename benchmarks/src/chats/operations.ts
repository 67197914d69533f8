import { deepStrictEqual, ok } from "node:assert/strict";
import type { Progress } from "../calls.ts";
import type { ChatRow } from "../figures.ts";
import { rounded } from "../figures.ts";
import type { LoadEffort } from "../load.ts";
import type { ChatContestant } from "./contestant.ts";
import { countRequests } from "./requests.ts";
import { turnOf } from "./turns.ts";
import { measureInTurn } from "./windows.ts";

/** The number of chats that a list returns. */
const LISTED = 30;
/** The number of calls of Scrollback that are counted. */
const COUNTED = 20;

/** The contestants that store chats. */
export type ChatContestants = Readonly<Record<"raw" | "Scrollback" | "Mastra", ChatContestant>>;

/** Measures the list and a stored turn of an owner with this number of chats, and checks that all calls had their effect. */
export async function measureOwner(
  contestants: ChatContestants,
  chats: number,
  effort: LoadEffort,
  { signal, report }: Progress,
): Promise<ChatRow[]> {
  const owner = `owner of ${chats}`;
  const ids = Array.from({ length: chats }, (_, index) => `${chats}-${index}`);
  const entries = Object.entries(contestants) as [keyof ChatContestants, ChatContestant][];
  for (const [name, contestant] of entries) {
    report(`making ${chats.toLocaleString("en")} chats, ${name}`);
    await contestant.fill(owner, ids);
    await contestant.flush?.();
    signal.throwIfAborted();
    deepStrictEqual(await contestant.list(owner, LISTED), ids.slice(-LISTED).reverse());
  }

  report(`measuring lists of ${LISTED} of ${chats.toLocaleString("en")}`);
  const ours = contestants.Scrollback;
  const listRequests = await countRequests(() => times(COUNTED, () => ours.list(owner, LISTED)));
  const lists = await measureInTurn(
    entries.map(([name, contestant]) => ({ name, prepare: () => () => contestant.list(owner, LISTED) })),
    effort,
    signal,
  );

  report(`measuring turns in ${chats.toLocaleString("en")} chats`);
  /** Each turn belongs to another chat, as when a user returns to an older chat. */
  const turns = entries.map(([name, contestant]) => {
    let number = 0;
    const flush = contestant.flush?.bind(contestant);
    return {
      name,
      prepare() {
        const turn = turnOf(number);
        const chatId = ids[(number * 7) % ids.length] ?? "";
        number += 1;
        return () => contestant.storeTurn(owner, chatId, turn);
      },
      lastChat: () => ids[((number - 1) * 7) % ids.length],
      ...(flush && { flush }),
    };
  });
  const [counted] = turns.filter(({ name }) => name === "Scrollback");
  const turnRequests = await countRequests(() => times(COUNTED, async () => await counted?.prepare()()));
  const stored = await measureInTurn(turns, effort, signal);
  // Turns within one millisecond are ordered by the ids of their chats.
  for (const { name, lastChat } of turns)
    ok(
      (await contestants[name].list(owner, 5)).includes(lastChat() ?? ""),
      `${name} lists an old chat first`,
    );

  const rowOf = (operation: ChatRow["operation"], results: typeof lists, requests: number): ChatRow => ({
    operation,
    chats,
    results: { ...results, Scrollback: { ...results.Scrollback, requests: rounded(requests / COUNTED) } },
  });
  return [rowOf("list 30", lists, listRequests), rowOf("store a turn", stored, turnRequests)];
}

async function times(count: number, work: () => Promise<unknown>): Promise<void> {
  for (let done = 0; done < count; done++) await work();
}
