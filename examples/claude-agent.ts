import { ScrollbackSessionStore } from "@scrollback/bridge-claude-agent";
import { openStores } from "@scrollback/store-core";

// Sessions of the Claude Agent SDK move to another host. `node claude-agent.ts import <id>` copies a local session into the
// store; `node claude-agent.ts show` lists and reads the sessions of the store, also where CLAUDE_CONFIG_DIR is empty.
// The SDK's licence is its own, so it is not among the dependencies here: npm install @anthropic-ai/claude-agent-sdk
const sdk = "@anthropic-ai/claude-agent-sdk";
const { foldSessionSummary, getSessionMessages, importSessionToStore, listSessions } = await import(sdk);

const [command, id] = process.argv.slice(2);
await using stores = await openStores("sqlite:claude.db");
await using sessionStore = new ScrollbackSessionStore({ stores, foldSessionSummary });
const dir = process.cwd();

if (command === "import") await importSessionToStore(id, sessionStore, { dir });
// With a key, continue: query({ prompt: "And to the station?", options: { sessionStore, resume: sessionId } })
for (const { sessionId, summary } of await listSessions({ dir, sessionStore })) {
  const messages = await getSessionMessages(sessionId, { dir, sessionStore });
  console.log(`${summary}: ${messages.map(({ type }: { type: string }) => type).join(", ")}`);
}
