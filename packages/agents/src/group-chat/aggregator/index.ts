export { AggregatorAgent, type AggregatorAgentOptions, type AggregatorMode } from "./aggregator-agent.ts";
