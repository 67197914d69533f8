import type { FrameworkBackend, FrameworkName } from "../figures.ts";

/** One way to keep the state of a framework's agent from turn to turn. */
export interface TurnContestant {
  /** The class that keeps it. */
  readonly name: string;
  readonly framework: FrameworkName;
  readonly backend: FrameworkBackend;
  /** Whether it is ours, whose requests are counted. */
  readonly isOurs: boolean;
  /** Has the agent answer a question on a thread, with new objects of the framework, as a server has them for each request. */
  turn(threadId: string, question: string): Promise<unknown>;
  /** The texts of a thread's messages, oldest first. */
  read(threadId: string): Promise<string[]>;
  /** How many bytes lie in the backend. Absent where it is memory. */
  bytes?(): Promise<number>;
  close(): Promise<unknown>;
}

/** What the agent answers. */
export function answerTo(question: string): string {
  return `Line 4, every ten minutes, from the station to the harbour. That is the answer to: ${question}`;
}

/** What a tool of the agent returns. */
export const TOOL_RESULT =
  "Line 4 goes from the station to the harbour every ten minutes, at night every half hour.";

/** A question of some hundred characters. Turns of one number are alike in every thread. */
export function questionOf(turn: number): string {
  const detail = "I am at the station with two bicycles and would rather not change trams on the way. ";
  return `Question ${turn}: which tram goes to the harbour? ${detail.repeat(3)}`;
}
