import type { ChatMessage } from "@scrollback/store-core";
import { approval, assistant, system, toolCall, toolResult, user } from "./messages.ts";

const letters: Record<string, (number: number) => ChatMessage> = {
  s: (number) => system(`${number}`),
  u: (number) => user(`${number}`),
  a: (number) => assistant(`${number}`),
  c: (number) => toolCall(`${number}`),
  t: (number) => toolResult(`${number}`),
  r: (number) => toolResult(`${number}`, "user"),
  p: (number) => approval(`${number}`),
};

/**
 * A history in short form, numbered from `from`:
 * s system, u user, a assistant, c assistant with a tool call, t tool result, r tool result in a user message,
 * p a tool message with an approval only.
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
  example("only tool results fit: the raw cut", "u c t t", "t t", 3, [4, 5, 6], [4, 5, 6]),
  example("only tool results fit after the system message", "s u c t t", "t", 3, [1, 5, 6], [4, 5, 6]),
  example("a system message within the tail may start it", "u a", "s a t", 3, [3, 4, 5], [3, 4, 5]),
  example("parallel tool calls", "u c t t a", "u c t t", 5, [6, 7, 8, 9], [5, 6, 7, 8, 9]),
  example("a batch longer than fits", "u a", "u a u a u a u", 3, [7, 8, 9], [7, 8, 9]),
  example("a batch longer than fits, cut inside a turn", "u", "u a a u c t a a", 3, [8, 9], [7, 8, 9]),
  example("a batch longer than fits into an empty thread", "", "s u a u a u", 3, [1, 6], [4, 5, 6]),
  example("a batch of tool results longer than fits", "u c", "t t t t", 2, [5, 6], [5, 6]),
  example("one message, and a tool result at that", "u c", "t", 1, [3], [3]),
  example("the system message comes with the batch", "", "s u a a", 2, [1, 4], [3, 4]),
  example("a tool's message starts nothing, whatever it bears", "u c p", "t a", 3, [5], [3, 4, 5]),
  example("only system messages", "s s s", "s", 2, [1, 4], [3, 4]),
];
