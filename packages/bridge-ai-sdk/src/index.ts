export { fromUIMessages } from "./convert/from-ui-messages.ts";
export { uiMessageTraits } from "./convert/message-traits.ts";
export { fromModelMessages, toModelMessages } from "./convert/model-messages.ts";
export { toUIMessages } from "./convert/to-ui-messages.ts";
export { uiMessages } from "./convert/ui-messages.ts";
export { upgradeUIMessages } from "./convert/upgrade-messages.ts";
export { createChatHandler } from "./http/chat-handler.ts";
export type { ChatHandler, RequestContext } from "./http/handler.ts";
export { type NodeListenerOptions, nodeListener } from "./http/node-listener.ts";
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
export { inProcessStreams } from "./streams/in-process-streams.ts";
export type { ChatStreams } from "./streams/streams.ts";
export type { RecorderOptions } from "./turn/answer-recorder.ts";
export { type BeginTurn, beginTurn, type OpenTurn } from "./turn/begin-turn.ts";
