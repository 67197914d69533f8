export { type AgentChannel, type ChannelMessage, type ChannelPart, channelKey } from "./channel.ts";
export { ChatHistoryChannel } from "./chat-history-channel.ts";
