export { channelKey } from "./channel.ts";
export { ChatHistoryChannel } from "./chat-history-channel.ts";
