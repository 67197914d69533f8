/**
 * Group chats: several agents share one history and take turns, by selection and termination strategies.
 *
 * @packageDocumentation
 */

export { AgentChat } from "./agent-chat.ts";
export { AgentGroupChat } from "./agent-group-chat.ts";
export { AggregatorAgent } from "./aggregator/aggregator-agent.ts";
export type { AgentChannel, ChatParticipant } from "./participant.ts";
export { ModelSelection } from "./strategies/model-selection.ts";
export { ModelTermination } from "./strategies/model-termination.ts";
export { type SelectionStrategy, SequentialSelection } from "./strategies/selection.ts";
export {
  AggregateTermination,
  RegexTermination,
  type TerminationStrategy,
} from "./strategies/termination.ts";
