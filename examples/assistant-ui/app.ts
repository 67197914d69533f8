import type { ChatModelAdapter, RemoteThreadListAdapter } from "@assistant-ui/core";
import { useLocalRuntime, useRemoteThreadListRuntime } from "@assistant-ui/core/react";

/** A model that needs no key; call your server's route for the model instead. */
const model: ChatModelAdapter = {
  async run({ messages }) {
    const count = messages.filter(({ role }) => role === "user").length;
    return { content: [{ type: "text", text: `That was your message ${count}.` }] };
  },
};

const useModel = () => useLocalRuntime(model);

/** The runtime of the application, for `AssistantRuntimeProvider`. The adapter must be the same object in each render. */
export const useChats = (adapter: RemoteThreadListAdapter) =>
  useRemoteThreadListRuntime({ runtimeHook: useModel, adapter });
