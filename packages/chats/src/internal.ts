/**
 * What only Scrollback's own packages share. It may change in any release.
 *
 * @packageDocumentation
 */
export { answerThreadOf } from "./list/owned-chats.ts";
export { isRunning } from "./read/head.ts";
export type { AnswerThread } from "./streams/answer-thread.ts";
export type { AnswerWriter } from "./streams/answer-writer.ts";
