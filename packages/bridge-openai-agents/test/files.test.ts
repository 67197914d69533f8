import type { AgentInputItem } from "@openai/agents-core";
import { expect, test } from "vitest";
import {
  largeBase64,
  messagesWithFiles,
  onChats,
} from "../../../conformance-tests/test/fixtures/chat-files.ts";
import { fromAgentItems, toAgentItems } from "../src/messages.ts";

onChats((chat) => {
  test("large files of chat messages are in the items, after a read with contents or with references", async () => {
    const { messages, files } = messagesWithFiles();
    const { photo, map, pdf, voice, chart } = files;
    const id = await chat.add(messages, 5);
    const { messages: items } = toAgentItems(messages);
    expect(items[0]).toMatchObject({
      content: [
        { type: "input_text", text: "Look" },
        { type: "input_image", image: `data:image/png;base64,${photo}` },
        { type: "input_image", image: `data:image/png;base64,${map}` },
        { type: "input_file", file: `data:application/pdf;base64,${pdf}`, filename: "a.pdf" },
        { type: "audio", audio: voice, format: "wav" },
      ],
    });
    expect(JSON.stringify(items[2])).toContain(chart);
    for (const read of [await chat.whole(id), await chat.filled(id)])
      expect(toAgentItems(read).messages).toEqual(items);
    const [withUrls] = toAgentItems(await chat.filled(id, true)).messages;
    expect(withUrls).toMatchObject({
      content: [
        { type: "input_text" },
        { type: "input_image", image: `data:image/png;base64,${photo}` },
        { type: "input_image", image: "https://files.test/image/png" },
        { type: "input_file", file: { url: "https://files.test/application/pdf" }, filename: "a.pdf" },
        { type: "audio", audio: voice },
      ],
    });
  });

  test("large files of items are stored apart from the chat's messages, and read as they were", async () => {
    const [photo, pdf, voice, chart] = Array.from({ length: 4 }, largeBase64) as [string, ...string[]];
    const items: AgentInputItem[] = [
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_image", image: `data:image/png;base64,${photo}` },
          { type: "input_file", file: `data:application/pdf;base64,${pdf}`, filename: "a.pdf" },
          { type: "audio", audio: String(voice), format: "wav" },
        ],
      },
      { type: "function_call", callId: "c", name: "draw", status: "completed", arguments: "{}" },
      {
        type: "function_call_result",
        callId: "c",
        name: "draw",
        status: "completed",
        output: [{ type: "input_image", image: `data:image/png;base64,${chart}` }],
      },
    ];
    const { messages, lost } = fromAgentItems(items);
    expect(lost).toEqual([]);
    const id = await chat.add(messages, 4);
    for (const read of [await chat.whole(id), await chat.filled(id)]) {
      expect(read).toEqual(messages.map((message, index) => ({ ...message, id: `m${index}` })));
      expect(toAgentItems(read).messages).toEqual(items);
    }
  });
});
