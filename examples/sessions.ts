import { SessionService, State } from "@scrollback/sessions";
import { openStores } from "@scrollback/store-core";

await using stores = await openStores("sqlite:sessions.db");
await using sessions = new SessionService({ stores });
const ada = { appName: "travel", userId: "ada" };

// One session per trip. Run it again: the session continues, with the messages of the earlier runs.
const session = await sessions.getOrCreateSession({ ...ada, sessionId: "rome" });
const stateDelta = {};
const state = new State(session.state, stateDelta);
state.set("visits", (state.get<number>("visits") ?? 0) + 1);
state.set("user:language", "nl");
await sessions.appendEvent({
  session,
  event: {
    id: crypto.randomUUID(),
    author: "user",
    timestamp: Date.now() / 1_000,
    content: "Which tram goes to the harbour?",
    actions: { stateDelta },
  },
});

// The user's state is available in each of the user's sessions.
const other = await sessions.createSession({ ...ada, state: { city: "Oslo" } });
console.log(`${session.events.length} events, ${JSON.stringify(session.state)}`);
console.log(JSON.stringify(other.state));
for (const { id, state } of (await sessions.listSessions({ ...ada, order: "asc", limit: 1 })).sessions) {
  console.log(`${id}: ${JSON.stringify(state)}`);
}
