import type { FrameworkBackend, FrameworkName } from "../figures.ts";

/** One way to store the state of a framework's agent between turns. */
export interface TurnContestant {
  /** The class that stores it. */
  readonly name: string;
  readonly framework: FrameworkName;
  readonly backend: FrameworkBackend;
  /** Whether it is a class of Scrollback, whose requests are counted. */
  readonly isOurs: boolean;
  /** Lets the agent answer a question on a thread, with new framework objects, as a server creates them for each request. */
  turn(threadId: string, question: string): Promise<unknown>;
  /** The texts of a thread's messages, oldest first. */
  read(threadId: string): Promise<string[]>;
  /** The number of bytes in the backend. Absent in memory. */
  bytes?(): Promise<number>;
  close(): Promise<unknown>;
}

/** The agent's answer. */
export function answerTo(question: string): string {
  return `Line 4, every ten minutes, from the station to the harbour. That is the answer to: ${question}`;
}

/** The result of the agent's tool. */
export const TOOL_RESULT =
  "Line 4 goes from the station to the harbour every ten minutes, at night every half hour.";

/** A question of a few hundred characters. Turns with the same number are equal in every thread. */
export function questionOf(turn: number): string {
  const detail = "I am at the station with two bicycles and would rather not change trams on the way. ";
  return `Question ${turn}: which tram goes to the harbour? ${detail.repeat(3)}`;
}
