import type { AgentInputItem } from "@openai/agents-core";

export const user = (content: string): AgentInputItem => ({ type: "message", role: "user", content });

export const assistant = (text: string): AgentInputItem => ({
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text }],
});

export const call = (callId: string, args = "{}"): Extract<AgentInputItem, { type: "function_call" }> => ({
  type: "function_call",
  callId,
  name: "find_tram",
  status: "completed",
  arguments: args,
});

export const result = (callId: string): AgentInputItem => ({
  type: "function_call_result",
  callId,
  name: "find_tram",
  status: "completed",
  output: { type: "text", text: "4" },
});
