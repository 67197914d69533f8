/**
 * Converts items of the OpenAI Agents SDK to Scrollback's messages and back.
 *
 * @packageDocumentation
 */

export { fromAgentItems } from "./from-agent-items.ts";
export { toAgentItems } from "./to-agent-items.ts";
