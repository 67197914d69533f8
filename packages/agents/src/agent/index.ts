export { ChatAgent } from "./chat-agent.ts";
export type { AgentInput } from "./input.ts";
export type { ResponseMessage } from "./model-messages.ts";
export type {
  ChatAgentOptions,
  ErrorContext,
  HistoryReducer,
  OnConflict,
  Persist,
  RunOptions,
} from "./options.ts";
export type { AgentResult } from "./run.ts";
export type { StreamedPart } from "./run-steps.ts";
export { openaiResponses, type ServiceThread } from "./service-thread.ts";
