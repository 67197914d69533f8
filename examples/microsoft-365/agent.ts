import { type Activity, ActivityTypes, DeliveryModes } from "@microsoft/agents-activity";
import { AgentApplication, CloudAdapter, type TurnState } from "@microsoft/agents-hosting";
import { openStores } from "@scrollback/store-core";
import { ScrollbackStorage } from "./storage.ts";
import { transcript } from "./transcript.ts";

// An agent of the Microsoft 365 Agents SDK. Run it again: another process continues with the state and the transcript.

await using stores = await openStores("sqlite:chats.db");
const adapter = new CloudAdapter({});
adapter.use(transcript(stores));
const agent = new AgentApplication<TurnState<{ questions?: number }>>({
  storage: new ScrollbackStorage(stores),
});
agent.onActivity(ActivityTypes.Message, async (context, state) => {
  state.conversation.questions = (state.conversation.questions ?? 0) + 1;
  await context.sendActivity(`That was your message ${state.conversation.questions}.`);
});
// The SDK saves the state only after an "afterTurn" handler that returns true.
agent.onTurn("afterTurn", async () => true);

// Simulates a request of a channel; in a program, Express calls `process`.
const body = {
  type: ActivityTypes.Message,
  deliveryMode: DeliveryModes.ExpectReplies,
  channelId: "emulator",
  conversation: { id: "trams" },
  from: { id: "ada" },
  recipient: { id: "agent" },
  text: "Which tram goes to the harbour?",
};
const response = {
  headersSent: false,
  writableEnded: false,
  status: () => response,
  setHeader: () => response,
  send(sent: { activities: Activity[] }) {
    console.log(sent.activities.map(({ text }) => text).join(" "));
    return response;
  },
  end: () => response,
};
await adapter.process({ body, headers: {}, method: "POST" }, response, (context) => agent.run(context));
const activities = await stores.open("m365:transcript:emulator:trams").listMessages();
console.log(activities.map((message) => message.role).join(" "));
