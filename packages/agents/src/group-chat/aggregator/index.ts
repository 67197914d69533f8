export { AggregatorAgent, type AggregatorAgentOptions } from "./aggregator-agent.ts";
export type { AggregatorMode } from "./aggregator-channel.ts";
