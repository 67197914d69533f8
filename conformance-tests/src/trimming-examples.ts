import type { ChatMessage } from "@scrollback/store-core";
import {
  approval,
  assistant,
  reasoning,
  resultAndCall,
  summary,
  system,
  toolCall,
  toolResult,
  user,
} from "./messages/messages.ts";

const letters: Record<string, (number: number) => ChatMessage> = {
  s: (number) => system(`${number}`),
  u: (number) => user(`${number}`),
  a: (number) => assistant(`${number}`),
  c: (number) => toolCall(`${number}`),
  t: (number) => toolResult(`${number}`),
  r: (number) => toolResult(`${number}`, "user"),
  p: (number) => approval(`${number}`),
  n: (number) => reasoning(`${number}`),
  b: (number) => resultAndCall(`${number}`),
  k: (number) => summary(`${number}`),
};

/**
 * A history in short form, numbered from `from`:
 * s system, u user, a assistant, c assistant with a tool call, t tool result, r tool result in a user message,
 * p a tool message with an approval only, n reasoning alone, b a result and a call in one message, k a summary.
 */
export function history(short: string, from = 1): ChatMessage[] {
  return [...short.replaceAll(" ", "")].flatMap((letter, index) => letters[letter]?.(from + index) ?? []);
}

/** A thread, the messages that are then added with `maxMessages`, and the numbers of the remaining messages. */
export interface TrimmingExample {
  readonly what: string;
  readonly before: string;
  readonly added: string;
  readonly maxMessages: number;
  readonly turns: readonly number[];
  readonly exact: readonly number[];
}

const example = (
  what: string,
  before: string,
  added: string,
  maxMessages: number,
  turns: readonly number[],
  exact: readonly number[],
): TrimmingExample => ({ what, before, added, maxMessages, turns, exact });

/** Worked out by hand. */
export const trimmingExamples: readonly TrimmingExample[] = [
  example("nothing to trim", "s u a", "u a", 5, [1, 2, 3, 4, 5], [1, 2, 3, 4, 5]),
  example("whole turns", "u a u a", "u a", 4, [3, 4, 5, 6], [3, 4, 5, 6]),
  example("cut at a turn, not inside", "u a u a", "u", 4, [3, 4, 5], [2, 3, 4, 5]),
  example("a leading system message is kept and counted", "s u a u a", "u", 4, [1, 4, 5, 6], [3, 4, 5, 6]),
  example("a leading system message and less than fits", "s u a u a", "u a", 4, [1, 6, 7], [4, 5, 6, 7]),
  example("room for one beside the system message", "s u a", "u", 2, [1, 4], [3, 4]),
  example("for one message the system message goes", "s u a", "u", 1, [4], [4]),
  example("a system message in the middle is like any other", "u s a", "u a", 3, [4, 5], [3, 4, 5]),
  example("a tool result is not parted from its call", "u c t a", "u a", 4, [5, 6], [3, 4, 5, 6]),
  example("tool results in a user's message start no turn", "u c r a", "u a", 4, [5, 6], [3, 4, 5, 6]),
  example(
    "no user fits: from the first that is no tool result",
    "u c t t",
    "c t a",
    5,
    [5, 6, 7],
    [3, 4, 5, 6, 7],
  ),
  example("no user fits: a user's tool result does not count", "u c r r", "c r", 4, [5, 6], [3, 4, 5, 6]),
  example("no user fits, a system message is kept", "s u c t t c", "t t", 4, [1, 6, 7, 8], [5, 6, 7, 8]),
  example("only tool results fit: nothing is left", "u c t t", "t t", 3, [], [4, 5, 6]),
  example("only tool results fit after the system message", "s u c t t", "t", 3, [1], [4, 5, 6]),
  example("a system message within the tail may start it", "u a", "s a t", 3, [3, 4, 5], [3, 4, 5]),
  example("parallel tool calls", "u c t t a", "u c t t", 5, [6, 7, 8, 9], [5, 6, 7, 8, 9]),
  example("a batch longer than fits", "u a", "u a u a u a u", 3, [7, 8, 9], [7, 8, 9]),
  example("a batch longer than fits, cut inside a turn", "u", "u a a u c t a a", 3, [8, 9], [7, 8, 9]),
  example("a batch longer than fits into an empty thread", "", "s u a u a u", 3, [1, 6], [4, 5, 6]),
  example("a batch of tool results longer than fits", "u c", "t t t t", 2, [], [5, 6]),
  example("one message, and a tool result at that", "u c", "t", 1, [], [3]),
  example("the system message comes with the batch", "", "s u a a", 2, [1, 4], [3, 4]),
  example("a tool's message starts nothing, whatever it bears", "u c p", "t a", 3, [5], [3, 4, 5]),
  example("only system messages", "s s s", "s", 2, [1, 4], [3, 4]),
  example("no cut between the calls of one step", "u c c", "t t", 3, [], [3, 4, 5]),
  example("the next step begins the tail", "u c c t t", "c c t t", 7, [6, 7, 8, 9], [3, 4, 5, 6, 7, 8, 9]),
  example("a message with a result and a call begins nothing", "u b", "c t a", 4, [5], [2, 3, 4, 5]),
  example("reasoning is not parted from its call", "u n c t", "a", 3, [5], [3, 4, 5]),
  example("reasoning may begin the tail", "u c t n", "c t", 4, [4, 5, 6], [3, 4, 5, 6]),
  example("an answer behind reasoning alone", "u c n", "a", 2, [4], [3, 4]),
  example("an answer that fits without its reasoning", "u n", "a", 1, [3], [3]),
  example("a newest call that fits without the one before", "u c", "c", 1, [], [3]),
  example("the newest summary is kept and counted", "s u k u a", "u a u a", 5, [1, 3, 8, 9], [5, 6, 7, 8, 9]),
  example("older summaries are trimmed", "k u a k u a", "u a", 4, [4, 7, 8], [5, 6, 7, 8]),
  example("a summary within the tail", "u a u k", "a u", 3, [4, 6], [4, 5, 6]),
  example("a summary begins the tail", "u c t k", "a", 3, [4, 5], [3, 4, 5]),
  example("for one message the summary stays", "s k u", "a", 1, [2], [4]),
  example("a system message and a summary fill the thread", "s u k u", "u", 2, [1, 3], [4, 5]),
  example("the summary comes with the batch", "s u a", "u k a u a", 4, [1, 5, 7, 8], [5, 6, 7, 8]),
];
