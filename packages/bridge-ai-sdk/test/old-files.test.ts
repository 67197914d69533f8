import { ChatStore } from "@scrollback/chats";
import { createMemoryStores } from "@scrollback/store-core";
import { tool, type UIMessage } from "ai";
import type { MockLanguageModelV4 } from "ai/test";
import { afterEach, expect, test, vi } from "vitest";
import { z } from "zod";
import { createChatHandler, uiMessages } from "../src/index.ts";
import { scriptedModel } from "./scripted-model.ts";
import { answer, read, textIn, user } from "./serve.ts";

const URL_OF_FILE = "https://files.example/x.png?signature=secret";
const file = (url: string, fields: object = {}) => ({ type: "file", mediaType: "image/png", url, ...fields });
const asks = (id: string, ...parts: object[]) => ({ id, role: "user", parts }) as UIMessage;
/** The tool shows a file in its result. */
const look = tool({
  inputSchema: z.object({ word: z.string() }),
  execute: async () => "seen",
  toModelOutput: () => ({
    type: "content",
    value: [{ type: "file", mediaType: "image/png", data: { type: "url", url: new URL(URL_OF_FILE) } }],
  }),
});

/** The requests for files, and whether they are answered. */
const web = { isThere: true, requests: [] as string[] };

function open(model: MockLanguageModelV4 = scriptedModel(), fileTypes?: string[]) {
  web.isThere = true;
  web.requests = [];
  vi.stubGlobal("fetch", async (url: string, init?: RequestInit) => {
    // Refuses credentials, as the real one does.
    const { href } = new URL(new Request(url, init).url);
    web.requests.push(href);
    return new Response("png", { status: web.isThere ? 200 : 403, headers: { "content-type": "image/png" } });
  });
  const errors: unknown[] = [];
  const chats = new ChatStore<UIMessage>({ stores: createMemoryStores(), ...uiMessages() });
  const onError = (error: unknown) => void errors.push(error);
  const chat = createChatHandler<UIMessage>({
    chats,
    model,
    tools: { lookUp: look },
    onError,
    ...(fileTypes && { fileTypes }),
  });
  const post = async (body: object) => {
    const request = new Request("http://h/api/chat", {
      method: "POST",
      body: JSON.stringify({ id: "c", ...body }),
    });
    const response = await chat.fetch(request, { owner: "ada" });
    return { status: response.status, ...(await read(response)) };
  };
  const prompt = () => JSON.stringify(model.doStreamCalls.at(-1)?.prompt);
  return { mine: chats.of("ada"), post, errors, prompt };
}

afterEach(() => void vi.unstubAllGlobals());

test("a file whose URL has expired: later turns are answered with a note in its place, and it is reported once", async () => {
  const { post, errors, prompt } = open();
  const first = await post({ message: asks("m1", { type: "text", text: "say hello" }, file(URL_OF_FILE)) });
  expect(textIn(first.chunks)).toBe("hello ");
  // The new message's file is loaded by the SDK alone.
  expect(web.requests).toHaveLength(1);
  web.isThere = false;
  for (const id of ["m2", "m3"])
    expect(textIn((await post({ message: user(id, "say next") })).chunks)).toBe("next ");
  expect(prompt()).toContain("(A file is not available: image/png)");
  expect(prompt()).not.toContain("files.example");
  const { chunks } = await post({ trigger: "regenerate-message" });
  expect(textIn(chunks)).toBe("next ");
  expect(errors).toMatchObject([{ code: "NOT_FOUND" }]);
  expect(String(errors[0])).toContain("https://files.example/x.png (thread ada/c)");
  expect(String(errors[0])).not.toContain("secret");
  web.isThere = true;
  await post({ message: user("m4", "say back") });
  expect(prompt()).toContain('"type":"file"');
});

test("a new message whose file cannot be loaded fails; sent again or made again, its answer has a note", async () => {
  const { post, prompt } = open();
  web.isThere = false;
  const parts = [{ type: "text", text: "say hello" }, file(URL_OF_FILE)];
  expect((await post({ message: asks("m1", ...parts) })).chunks.map(({ type }) => type)).toContain("error");
  for (const again of [{ message: asks("m1", ...parts) }, { trigger: "regenerate-message" }]) {
    expect(textIn((await post(again)).chunks)).toContain("hello");
    expect(prompt()).toContain("A file is not available");
  }
});

test("a file in a tool's result that has expired becomes a note", async () => {
  const { post, errors, prompt } = open();
  await post({ message: user("m1", "look up x") });
  expect(prompt()).toContain('"type":"file"');
  web.isThere = false;
  expect(textIn((await post({ message: user("m2", "say next") })).chunks)).toBe("next ");
  expect(prompt()).toContain("A file is not available");
  expect(errors).toHaveLength(1);
});

const refused = [
  ...["blob:https://a.example/1", "x.png", "/x.png", "file:///x.png", "http://localhost/x.png"],
  ...[
    "http://127.0.0.1/x.png",
    "http://10.0.0.1/x.png",
    "http://[::1]/x.png",
    "http://u:pw@files.example/x.png",
  ],
  ...["data:text/plain,hi", "not a url", ""],
];

test.each(refused)(
  "a file with the URL %j is refused in a request, and a note in a chat that was made with it",
  async (url) => {
    const { mine, post, errors, prompt } = open();
    expect(await post({ message: asks("m1", file(url)) })).toMatchObject({
      status: 400,
      error: "INVALID_ARGUMENT",
    });
    const parts = [
      { type: "steering-message", id: "s", parts: [file(url)] },
      file(url),
      { type: "text", text: "a" },
    ];
    const made = { ...answer("a1"), parts: url.startsWith("http:") ? [] : parts } as UIMessage;
    await mine.create({ id: "c", messages: [asks("m1", file(url, { filename: "x.png" })), made] });
    expect(textIn((await post({ message: user("m2", "say next") })).chunks)).toBe("next ");
    expect(prompt()).toContain("(A file is not available: x.png, image/png)");
    expect(prompt()).not.toContain('"type":"file"');
    expect(errors).toHaveLength(1);
    expect(web.requests.filter((one) => !one.includes("files.example"))).toEqual([]);
  },
);

test("a file that was uploaded to a provider, and one in base64, are sent without a request", async () => {
  const { mine, post, errors, prompt } = open();
  const uploaded = file("", { providerReference: { openai: "file-1" } });
  await mine.create({
    id: "c",
    messages: [asks("m1", uploaded, file("data:image/png;base64,iVBORw0KGgo="))],
  });
  await post({ message: user("m2", "say next") });
  expect(prompt()).toContain("file-1");
  expect(prompt()).toContain("iVBORw0KGgo");
  expect([errors, web.requests]).toEqual([[], []]);
});

test("a file of a type that the model does not take is refused in a request, and a note in a chat that was made with it", async () => {
  const data = (mediaType: string) => file(`data:${mediaType};base64,AAAA`, { mediaType });
  for (const type of ["text/html", "video/mp4", "text/plain"]) {
    const { mine, post, errors, prompt } = open();
    expect(await post({ message: asks("m1", data(type)) })).toMatchObject({
      ...{ status: 400, error: "INVALID_ARGUMENT" },
    });
    await mine.create({ id: "c", messages: [asks("m1", data(type)), answer("a1")] });
    for (const id of ["m2", "m3"]) await post({ message: user(id, "say next") });
    expect(prompt()).toContain(`(A file is not available: ${type})`);
    expect(prompt()).not.toContain("AAAA");
    expect(errors).toMatchObject([{ code: "NOT_FOUND" }]);
  }
  const { post, prompt } = open(scriptedModel(), ["video/*", "Text/Plain"]);
  await post({
    message: asks("m1", { type: "text", text: "say a" }, data("video/mp4"), data("text/plain;charset=utf-8")),
  });
  expect(prompt()?.match(/AAAA/g)).toHaveLength(2);
  expect(await post({ message: asks("m2", data("image/png")) })).toMatchObject({ status: 400 });
});

test.each([
  ["application/*", "UEsDBA=="],
  ["application", "UEsDBA=="],
  ["image", "SUkqAA=="],
  ["image/png", "aGVsbG8="],
  ["image/png", "a"],
  ["image/png", "iVBOR"],
])("a file that is declared as %j with the bytes %j is refused", async (mediaType, base64) => {
  const { post } = open();
  const odd = file(`data:${mediaType};base64,${base64}`, { mediaType });
  expect(await post({ message: asks("m1", odd) })).toMatchObject({ status: 400, error: "INVALID_ARGUMENT" });
});

test("a file with the bytes of another type that the model takes is sent", async () => {
  const { post, prompt } = open();
  await post({
    message: asks("m1", { type: "text", text: "say a" }, file("data:image/png;base64,/9j/4AAQ")),
  });
  expect(prompt()).toContain("/9j/4AAQ");
});

test("fileTypes are media types", () => {
  for (const fileTypes of [["png"], "image/png", [1], ["image/"]])
    expect(() => open(scriptedModel(), fileTypes as never)).toThrow(
      /fileTypes must be an array of media types/,
    );
});
