import type { ChatEntry } from "@scrollback/chats";
import type { UIMessage } from "ai";
import { expect, test } from "vitest";
import { parsePostBody } from "../src/turn/post-body.ts";
import { decide, readTurnRequest } from "../src/turn/run-change.ts";
import { scriptedTools } from "./scripted-model.ts";
import { answer, user } from "./serve.ts";

const tools = scriptedTools({ deleted: [] });
const blank = (id: string): UIMessage => ({ id, role: "assistant", parts: [{ type: "step-start" }] });
const entry = (message: UIMessage, status: ChatEntry<UIMessage>["status"] = "complete") => ({
  message,
  status,
  createdAt: 1,
  updatedAt: 1,
});

/** What a request makes of a chat: the ids that stay and the messages behind them, or the code of its refusal. */
async function decided(
  body: object,
  chat: readonly (UIMessage | ChatEntry<UIMessage>)[],
  stopped?: string,
): Promise<unknown> {
  const entries = chat.map((one) => ("message" in one ? one : entry(one)));
  const request = await readTurnRequest<UIMessage>(parsePostBody({ id: "c", ...body }), { tools });
  try {
    const { keep = entries.length, append = [], continues } = decide(request, entries, stopped);
    const kept = entries.slice(0, keep).map(({ message }) => message.id);
    return { kept, append, ...(continues !== undefined && { continues }) };
  } catch (error) {
    return (error as { code?: string }).code;
  }
}

const message = user("u2");
const appended = (...ids: string[]) => ({ kept: ids, append: [message] });

test.each<[string, readonly (UIMessage | ChatEntry<UIMessage>)[], unknown, unknown]>([
  ["an empty chat", [], null, appended()],
  ["an answer", [user("u1"), answer("a1")], "a1", appended("u1", "a1")],
  ["an answer that the client does not have", [user("u1"), answer("a1")], "u1", "CONFLICT"],
  ["a question that the client does not have", [user("u1"), answer("a1"), user("u9")], "a1", "CONFLICT"],
  ["an empty answer, which a page does not count", [user("u1"), blank("a1")], "u1", appended("u1", "a1")],
  ["an empty answer, which a tab still shows", [user("u1"), blank("a1")], "a1", appended("u1", "a1")],
  [
    "two empty answers",
    [user("u1"), blank("a1"), { ...blank("a2"), parts: [] }],
    "u1",
    appended("u1", "a1", "a2"),
  ],
  ["an empty answer alone", [blank("a1")], null, appended("a1")],
  [
    "a stopped answer of which the tab has nothing",
    [user("u1"), entry(answer("a1"), "stopped")],
    "u1",
    appended("u1", "a1"),
  ],
  [
    "a failed answer of which the tab has nothing",
    [user("u1"), entry(answer("a1"), "failed")],
    "u1",
    appended("u1", "a1"),
  ],
  ["a message of nobody", [user("u1"), entry(answer("a1"), "failed")], "x", "CONFLICT"],
  ["a chat without its messages", [], "a1", "CONFLICT"],
])("a new message behind %s", async (_, chat, parentId, expected) => {
  expect(await decided({ message, parentId }, chat)).toEqual(expected);
});

test("a page and the server agree on the newest message, whatever empty answers there are", async () => {
  const chat = [user("u1"), answer("a1"), blank("b1"), user("u9"), blank("b2"), blank("b3")];
  for (let length = 0; length <= chat.length; length++) {
    const messages = chat.slice(0, length);
    const kept = messages.map(({ id }) => id);
    expect(await decided({ messages: [...messages, message] }, messages)).toEqual(appended(...kept));
  }
});

test("a message that stops an answer comes behind it, also if the answer became whole meanwhile", async () => {
  const chat = [user("u1"), answer("a1")];
  expect(await decided({ message, parentId: "u1" }, chat, "a1")).toEqual(appended("u1", "a1"));
  expect(await decided({ message, parentId: "u1" }, chat, "other")).toBe("CONFLICT");
});

test("a question that is sent again takes the place of its empty answers", async () => {
  const chat = [user("u1"), answer("a1"), user("u2"), blank("b1")];
  expect(await decided({ message, parentId: "a1" }, chat)).toEqual({ kept: ["u1", "a1", "u2"], append: [] });
  expect(await decided({ message }, [...chat, answer("a2")])).toBe("CONFLICT");
});

test("a regeneration keeps the question, also behind an answer that only the tab has", async () => {
  const chat = [user("u1"), answer("a1"), user("u2"), blank("b1")];
  const again = { trigger: "regenerate-message" };
  const kept = { kept: ["u1", "a1", "u2"], append: [] };
  for (const messageId of [undefined, "b1", "u2", "of the tab"])
    expect(await decided({ ...again, messageId }, chat)).toEqual(kept);
  expect(await decided({ ...again, messageId: "a1" }, chat)).toEqual({ kept: ["u1"], append: [] });
  expect(await decided({ ...again, messageId: "unknown" }, [...chat, answer("a2")])).toBe("CONFLICT");
  expect(await decided(again, [])).toBe("NOT_FOUND");
});

const call = (toolCallId: string, name: string, fields: object) =>
  ({ type: `tool-${name}`, toolCallId, input: {}, ...fields }) as UIMessage["parts"][number];
const asked = (id: string) =>
  call(id, "deleteFile", { state: "approval-requested", approval: { id: `of ${id}` } });
const responded = (id: string, approved: boolean) =>
  call(id, "deleteFile", { state: "approval-responded", approval: { id: `of ${id}`, approved } });
const calling = (...parts: UIMessage["parts"]): UIMessage => ({
  id: "a1",
  role: "assistant",
  parts: [{ type: "step-start" }, ...parts],
});

test.each<[string, UIMessage["parts"], UIMessage["parts"], object[]]>([
  [
    "a denial",
    [asked("k")],
    [responded("k", false)],
    [{ state: "output-denied", approval: { approved: false } }],
  ],
  [
    "an approval, whose tool does not run any more",
    [asked("k")],
    [responded("k", true)],
    [{ state: "output-error", errorText: expect.stringContaining("not run"), approval: { approved: true } }],
  ],
  [
    "the output of a client tool",
    [call("k", "askUser", { state: "input-available" })],
    [call("k", "askUser", { state: "output-available", output: { answer: "blue" } })],
    [{ state: "output-available", output: { answer: "blue" } }],
  ],
  [
    "the failure of a client tool",
    [call("k", "askUser", { state: "input-available" })],
    [call("k", "askUser", { state: "output-error", errorText: "no window" })],
    [{ state: "output-error", errorText: "no window" }],
  ],
  [
    "one decision of two",
    [asked("k"), asked("l")],
    [responded("k", false), asked("l")],
    [{ state: "output-denied" }, { state: "approval-requested" }],
  ],
])("%s that comes with a new message is stored before it", async (_, stored, sent, expected) => {
  const chat = [user("u1"), calling(...stored), blank("b")];
  const later = { kept: ["u1"], append: [{ id: "a1" }, blank("b"), message] };
  for (const body of [
    { messages: [user("u1"), calling(...sent), message] },
    { messages: [calling(...sent), message], parentId: "a1" },
  ]) {
    const made = await decided(body, chat);
    expect(made).toMatchObject(later);
    const [{ parts }] = (made as { append: [UIMessage] }).append;
    expect(parts.filter(({ type }) => type !== "step-start")).toMatchObject(expected);
  }
});

test("calls that are decided already, or of another answer, change nothing beside a new message", async () => {
  const done = calling(call("k", "deleteFile", { state: "output-available", output: "deleted" }));
  const chat = [user("u1"), done];
  const claims = [calling(responded("k", false)), { ...calling(responded("k", false)), id: "other" }];
  for (const claim of claims)
    expect(await decided({ messages: [claim, message], parentId: "a1" }, chat)).toEqual(appended("u1", "a1"));
});

test("an output of a client tool that does not match its schema refuses the whole request", async () => {
  const chat = [user("u1"), calling(call("k", "askUser", { state: "input-available" }))];
  const sent = calling(call("k", "askUser", { state: "output-available", output: 1 }));
  expect(await decided({ messages: [sent, message], parentId: "a1" }, chat)).toBe("INVALID_ARGUMENT");
});
