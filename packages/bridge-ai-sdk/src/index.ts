export type { RecorderOptions } from "./answer-recorder.ts";
export { type BeginTurn, beginTurn, type OpenTurn } from "./begin-turn.ts";
export { createChatHandler } from "./chat-handler.ts";
export { fromUIMessages } from "./from-ui-messages.ts";
export type { ChatHandler, RequestContext } from "./handler.ts";
export { inProcessStreams } from "./in-process-streams.ts";
export { uiMessageTraits } from "./message-traits.ts";
export { fromModelMessages, toModelMessages } from "./model-messages.ts";
export { type NodeListenerOptions, nodeListener } from "./node-listener.ts";
export type {
  BeginTurnOptions,
  ChatHandlerOptions,
  HistoryReducer,
  ModelAnswer,
  StreamingAgent,
  TitleOption,
  Turn,
  UIOptions,
} from "./options.ts";
export type { ChatStreams } from "./streams.ts";
export { toUIMessages } from "./to-ui-messages.ts";
export { uiMessages } from "./ui-messages.ts";
export { upgradeUIMessages } from "./upgrade-messages.ts";
