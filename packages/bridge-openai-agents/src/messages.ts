export { fromAgentItems } from "./from-agent-items.ts";
export { toAgentItems } from "./to-agent-items.ts";
