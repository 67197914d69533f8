export { AgentChat } from "./agent-chat.ts";
export { AgentGroupChat, type AgentGroupChatOptions } from "./agent-group-chat.ts";
export { AggregatorAgent, type AggregatorAgentOptions, type AggregatorMode } from "./aggregator-agent.ts";
export { type AgentChannel, type ChannelMessage, type ChannelPart, channelKey } from "./channel.ts";
export { ChatHistoryChannel } from "./chat-history-channel.ts";
export type { ChannelState, ChatProgress, ChatState, OpenTurn } from "./chat-state.ts";
export { ModelSelection, type ModelSelectionOptions } from "./model-selection.ts";
export { ModelTermination, type ModelTerminationOptions } from "./model-termination.ts";
export type { ChatParticipant } from "./participant.ts";
export {
  type Selection,
  type SelectionOptions,
  type SelectionStrategy,
  SequentialSelection,
} from "./selection.ts";
export {
  AggregateTermination,
  RegexTermination,
  type Termination,
  type TerminationScope,
  type TerminationStrategy,
} from "./termination.ts";
export type { ChatOptions, ChatStreamPart, TurnOptions } from "./turn.ts";
