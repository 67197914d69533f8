import type {
  ExportedMessageRepositoryItem,
  RemoteThreadListAdapter,
  RemoteThreadMetadata,
  RuntimeAdapters,
  ThreadHistoryAdapter,
} from "@assistant-ui/core";
import { useAui } from "@assistant-ui/store";
import { createAssistantStream } from "assistant-stream";
import { useMemo } from "react";
import type { ChatCalls, ThreadRow } from "./calls.ts";

type Call = <Name extends keyof ChatCalls>(
  name: Name,
  input: Parameters<ChatCalls[Name]>[0],
) => ReturnType<ChatCalls[Name]>;

async function post(url: string, input: unknown): Promise<unknown> {
  const response = await fetch(url, { method: "POST", body: JSON.stringify(input) });
  if (!response.ok) throw new Error(`${url} failed with status ${response.status}`);
  return await response.json();
}

const metadataOf = ({ id, title, archived, activeAt }: ThreadRow): RemoteThreadMetadata => ({
  remoteId: id,
  status: archived ? "archived" : "regular",
  title,
  lastMessageAt: new Date(activeAt),
});

/** The list of chats and their messages, stored by the server at this address. Create it once, outside of components. */
export function chatsOf(url: string): RemoteThreadListAdapter {
  const call: Call = <Name extends keyof ChatCalls>(name: Name, input: Parameters<ChatCalls[Name]>[0]) =>
    post(`${url}/chats/${name}`, input) as ReturnType<ChatCalls[Name]>;
  const update = async (input: Parameters<ChatCalls["update"]>[0]) => void (await call("update", input));

  return {
    async list(page) {
      const { rows, cursor } = await call("list", { cursor: page?.after });
      return { threads: rows.map(metadataOf), nextCursor: cursor };
    },
    rename: (id, title) => update({ id, title }),
    archive: (id) => update({ id, archived: true }),
    unarchive: (id) => update({ id, archived: false }),
    delete: (id) => call("delete", { id }),
    initialize: async (id) => ({ remoteId: (await call("create", { id })).id }),
    fetch: async (id) => metadataOf(await call("get", { id })),
    async generateTitle(id, messages) {
      // The first words of the question; in a program, ask a model on the server.
      const text = messages[0]?.content.find((part) => part.type === "text")?.text ?? "Chat";
      const title = [...text].slice(0, 40).join("");
      await update({ id, title });
      return createAssistantStream((controller) => controller.appendText(title));
    },
    unstable_useAdapters: () => useHistory(call),
  };
}

/** The messages of the chat that is shown. */
function useHistory(call: Call): RuntimeAdapters {
  const aui = useAui();
  return useMemo(() => {
    const save: ThreadHistoryAdapter["append"] = async (item) => {
      const { id, role } = item.message;
      const { remoteId } = await aui.threadListItem.initialize();
      await call("save", { id: remoteId, item: { id, role, item } });
    };
    const history: ThreadHistoryAdapter = {
      async load() {
        const { remoteId } = aui.threadListItem.getState();
        if (remoteId === undefined) return { messages: [] };
        const { messages, ...head } = await call("load", { id: remoteId });
        return { ...head, messages: messages.map(revive) };
      },
      append: save,
      update: save,
      async delete(items) {
        const { remoteId } = await aui.threadListItem.initialize();
        for (const { message, parentId } of items) {
          const { id, role } = message;
          await call("save", { id: remoteId, item: { id, role, item: { parentId } } });
        }
      },
    };
    return { history };
  }, [aui, call]);
}

/** JSON has no dates. */
function revive(item: ExportedMessageRepositoryItem): ExportedMessageRepositoryItem {
  return { ...item, message: { ...item.message, createdAt: new Date(item.message.createdAt) } };
}
