/**
 * Group chats: several agents share one history and take turns, by selection and termination strategies.
 *
 * @packageDocumentation
 */

export { AgentChat } from "./agent-chat.ts";
export { AgentGroupChat, type AgentGroupChatOptions } from "./agent-group-chat.ts";
export * from "./aggregator/index.ts";
export * from "./channels/index.ts";
export type { ChannelState, ChatProgress, ChatState, OpenTurn } from "./chat-state.ts";
export type { AgentChannel, ChannelMessage, ChannelPart, ChatParticipant } from "./participant.ts";
export * from "./strategies/index.ts";
export type { ChatOptions, ChatStreamPart, TurnOptions } from "./turn.ts";
