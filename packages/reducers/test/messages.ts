import type { ChatMessage, Part } from "@scrollback/store-core";

const call = (id: string): Part => ({ type: "tool-call", toolCallId: id, toolName: "look", input: {} });
const request = (id: string): Part => ({
  type: "tool-approval-request",
  approvalId: `approval of ${id}`,
  toolCallId: id,
});
const response = (id: string): Part => ({
  type: "tool-approval-response",
  approvalId: `approval of ${id}`,
  approved: true,
});
const result = (id: string): Part => ({
  type: "tool-result",
  toolCallId: id,
  toolName: "look",
  output: { type: "text", value: id },
});

/** The meaning of the letters of {@link history}. */
const kinds: Record<string, (ids: string[], text: string) => Pick<ChatMessage, "role" | "content">> = {
  s: (_, text) => ({ role: "system", content: text }),
  u: (_, text) => ({ role: "user", content: text }),
  a: (_, text) => ({ role: "assistant", content: text }),
  /** Tool calls; `q` with approval requests. */
  c: (ids, text) => ({ role: "assistant", content: [{ type: "text", text }, ...ids.map(call)] }),
  q: (ids) => ({ role: "assistant", content: [...ids.map(call), ...ids.map(request)] }),
  /** Approval requests without their calls. */
  Q: (ids) => ({ role: "assistant", content: ids.map(request) }),
  /** Calls and their results in one message, as for tools that the provider runs. */
  p: (ids) => ({ role: "assistant", content: ids.flatMap((id) => [call(id), result(id)]) }),
  /** Tool results in a tool's message; `R` in a user's. */
  r: (ids) => ({ role: "tool", content: ids.map(result) }),
  R: (ids) => ({ role: "user", content: ids.map(result) }),
  /** Approval responses in a tool's message; `Y` in a user's. */
  y: (ids) => ({ role: "tool", content: ids.map(response) }),
  Y: (ids) => ({ role: "user", content: ids.map(response) }),
  /** A tool's message without the id of a call. */
  t: (_, text) => ({ role: "tool", content: text }),
  /** Reasoning alone. */
  n: (_, text) => ({ role: "assistant", content: [{ type: "reasoning", text }] }),
  /** An earlier summary. */
  m: (_, text) => ({ role: "assistant", content: text, metadata: { type: "scrollback.summary" } }),
};

/**
 * A history from one letter per message, with tool call ids after a colon. Each message has its letter and index as its id,
 * and as its text if it has one: `"u c:x r:x a"` has the ids u0, c1, r2 and a3.
 */
export function history(letters: string): ChatMessage[] {
  return letters
    .split(" ")
    .filter((word) => word !== "")
    .map((word, index) => {
      const [letter = "", ids = ""] = word.split(":");
      const kind = kinds[letter];
      if (!kind) throw new Error(`no letter of a history: ${letter}`);
      const id = `${letter}${index}`;
      return { id, ...kind(ids.split(","), id) };
    });
}

/** The ids of messages; for a reducer's summary, its text in brackets. */
export function idsOf(messages: readonly ChatMessage[]): string {
  return messages.map(({ id, content }) => id ?? `[${content}]`).join(" ");
}

export const user = (content: string): ChatMessage => ({ role: "user", content });
export const assistant = (content: string): ChatMessage => ({ role: "assistant", content });
