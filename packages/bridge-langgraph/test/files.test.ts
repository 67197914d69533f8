import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { expect, test } from "vitest";
import {
  largeBase64,
  messagesWithFiles,
  onChats,
} from "../../../conformance-tests/test/fixtures/chat-files.ts";
import { fromLangChainMessages, toLangChainMessages } from "../src/messages/index.ts";

const plain = (messages: readonly BaseMessage[]) => messages.map((message) => message.toDict());

onChats((chat) => {
  test("large files of chat messages are in the blocks, after a read with contents or with references", async () => {
    const { messages, files } = messagesWithFiles();
    const { photo, map, pdf, voice, chart } = files;
    const id = await chat.add(messages, 5);
    const { messages: converted } = toLangChainMessages(messages);
    expect(converted[0]?.content).toMatchObject([
      { type: "text", text: "Look" },
      { type: "image", mimeType: "image/png", data: photo },
      { type: "image", mimeType: "image/png", data: map },
      { type: "file", mimeType: "application/pdf", data: pdf, metadata: { filename: "a.pdf" } },
      { type: "audio", mimeType: "audio/wav", data: voice },
    ]);
    expect(converted[2]?.content).toMatchObject([{ type: "image", data: chart }]);
    for (const read of [await chat.whole(id), await chat.filled(id)])
      expect(plain(toLangChainMessages(read).messages)).toEqual(plain(converted));
    const [withUrls] = toLangChainMessages(await chat.filled(id, true)).messages;
    expect(withUrls?.content).toMatchObject([
      { type: "text" },
      { type: "image", data: photo },
      { type: "image", mimeType: "image/png", url: "https://files.test/image/png" },
      { type: "file", mimeType: "application/pdf", url: "https://files.test/application/pdf" },
      { type: "audio", data: voice },
    ]);
  });

  test("large files of LangChain messages are stored apart from the chat's messages, and read as they were", async () => {
    const [photo, old, picture, voice, chart] = Array.from({ length: 5 }, largeBase64) as [
      string,
      ...string[],
    ];
    const given = [
      new HumanMessage({
        id: "1",
        contentBlocks: [
          { type: "image", mimeType: "image/png", data: photo },
          { type: "audio", mimeType: "audio/wav", data: String(voice) },
        ],
      }),
      new HumanMessage({
        id: "2",
        content: [
          { type: "image", source_type: "base64", mime_type: "image/png", data: old },
          { type: "image_url", image_url: { url: `data:image/png;base64,${picture}` } },
        ],
      }),
      new AIMessage({ id: "3", content: "", tool_calls: [{ id: "c", name: "draw", args: {} }] }),
      new ToolMessage({
        id: "4",
        tool_call_id: "c",
        name: "draw",
        contentBlocks: [{ type: "image", mimeType: "image/png", data: String(chart) }],
      }),
    ];
    const { messages, lost } = fromLangChainMessages(given);
    expect(lost).toEqual([]);
    const id = await chat.add(messages, 5);
    for (const read of [await chat.whole(id), await chat.filled(id)]) {
      expect(read).toEqual(messages);
      expect(plain(toLangChainMessages(read).messages)).toEqual(
        plain(toLangChainMessages(messages).messages),
      );
    }
    expect(toLangChainMessages(await chat.whole(id)).messages[1]?.content).toMatchObject([
      { type: "image", data: old },
      { type: "image", data: picture },
    ]);
  });
});
