import { lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { expect, test } from "vitest";
import { serve } from "./serve.ts";
import { openTab } from "./ui-client.ts";

test("a message, a tool that needs an approval: client and store have the same", async () => {
  await using server = await serve();
  const tab = openTab(server.url, "c", {
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  await tab.sendMessage({ text: "say hello there" });
  expect(tab.lastText).toBe("hello there ");
  expect(await server.stored("c")).toEqual(tab.plain);
  await tab.sendMessage({ text: "delete a.txt" });
  const part = tab.lastMessage?.parts.at(-1) as { approval: { id: string } };
  await tab.addToolApprovalResponse({ id: part.approval.id, approved: true });
  await tab.idle();
  expect(tab.error).toBeUndefined();
  expect(await server.stored("c")).toEqual(tab.plain);
  expect(server.log.deleted).toEqual(["a.txt"]);
  expect(server.errors).toEqual([]);
});
