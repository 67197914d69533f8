import { envelope, valueOf as valueIn } from "@scrollback/collections";
import type { MessageStore } from "@scrollback/store-core";
import type { ChatMiddleware, ModelMessage } from "@tanstack/ai";

/** Begins a run with the messages of a thread, and stores the messages that the run adds. Create one per run. */
export function history(store: MessageStore): ChatMiddleware {
  let stored = 0;
  const save = async ({ messages }: { readonly messages: readonly ModelMessage[] }) => {
    const added = messages.slice(stored);
    stored = messages.length;
    await store.addMessages(added.map((message) => envelope(message.role, message)));
  };
  return {
    name: "history",
    async onConfig({ phase }, { messages }) {
      // The tool calls and their results, before the next model call.
      if (phase === "beforeModel") await save({ messages });
      if (phase !== "init") return;
      const earlier = (await store.listMessages()).map((message) => valueIn<ModelMessage>(message));
      stored = earlier.length;
      const all = [...earlier, ...messages];
      await save({ messages: all });
      return { messages: all };
    },
    onFinish: save,
  };
}
