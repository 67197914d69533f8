/** The pages of the site in the order of its sidebar. Contains every page in `docs`, see test/navigation.test.ts. */
export interface Group {
  readonly text: string;
  readonly pages: readonly (readonly [title: string, place: string])[];
}

/** Pages whose tables have more columns than fit beside an outline. */
export const widePages: ReadonlySet<string> = new Set(["generated/tests", "reference/comparison"]);

export const navigation: readonly Group[] = [
  {
    text: "Tutorial",
    pages: [["Keep a conversation", "tutorial/first-conversation"]],
  },
  {
    text: "How-to guides",
    pages: [
      ["Choose a backend", "how-to/choose-a-backend"],
      ["Run in serverless functions", "how-to/serverless"],
      ["Separate tenants by thread id", "how-to/multi-tenant-ids"],
      ["Manage threads", "how-to/manage-threads"],
      ["Retain and erase", "how-to/retention-and-erasure"],
      ["Encrypt and rotate keys", "how-to/encryption"],
      ["Observe", "how-to/observability"],
      ["A chat fails at every turn", "how-to/repair-a-chat"],
      ["Test your app", "how-to/test-your-app"],
      ["Store other message types", "how-to/other-message-types"],
      ["Bundle", "how-to/bundlers"],
      ["Back up and restore", "how-to/backup-and-restore"],
      ["Move between backends", "how-to/move-between-backends"],
      ["Write an adapter", "how-to/write-an-adapter"],
    ],
  },
  {
    text: "Migrate",
    pages: [
      ["From LangChain histories", "how-to/migrate-from-langchain"],
      ["From ChatGPT and other apps", "how-to/migrate-from-chat-apps"],
      ["From AI SDK files", "how-to/migrate-from-ai-sdk-files"],
      ["From Microsoft's Redis store", "how-to/migrate-from-agent-framework-redis"],
    ],
  },
  {
    text: "Use with a framework",
    pages: [
      ["One conversation, many frameworks", "how-to/one-conversation-many-frameworks"],
      ["AI SDK", "how-to/ai-sdk"],
      ["A chat with Next.js", "how-to/nextjs"],
      ["OpenAI or Anthropic SDK", "how-to/openai-anthropic-sdk"],
      ["A web chat in React", "how-to/web-chat"],
      ["Claude Agent SDK", "how-to/bridge-claude-agent"],
      ["Genkit", "how-to/bridge-genkit"],
      ["LangGraph and LangChain", "how-to/bridge-langgraph"],
      ["OpenAI Agents SDK", "how-to/bridge-openai-agents"],
      ["Strands Agents", "how-to/bridge-strands"],
      ["Frameworks without a bridge", "how-to/recipes"],
    ],
  },
  {
    text: "Reference",
    pages: [
      ["API", "reference/api/index"],
      ["The protocol", "reference/protocol"],
      ["The suite's tests", "generated/tests"],
      ["Frameworks", "reference/frameworks"],
      ["Options", "reference/options"],
      ["Errors", "reference/errors"],
      ["Codecs", "reference/codecs"],
      ["Command line", "reference/cli"],
      ["Formats and versions", "reference/formats-and-versions"],
      ["Compatibility", "reference/compatibility"],
      ["Benchmarks", "generated/benchmarks"],
      ["Comparison", "reference/comparison"],
    ],
  },
  {
    text: "Backends",
    pages: [
      ["SQLite", "reference/store-sqlite"],
      ["Redis", "reference/store-redis"],
      ["MongoDB", "reference/store-mongo"],
      ["DynamoDB", "reference/store-dynamo"],
      ["PostgreSQL", "reference/store-postgres"],
      ["The contract of an adapter", "reference/adapter-contract"],
    ],
  },
  {
    text: "Layers",
    pages: [
      ["Agents", "reference/agents"],
      ["Group chats", "reference/group-chat"],
      ["Sessions", "reference/sessions"],
      ["Indexes", "reference/indexes"],
      ["Chats", "reference/chats"],
      ["AI SDK: routes, requests, answers", "reference/ai-sdk"],
      ["Reducers", "reference/reducers"],
      ["Collections", "reference/collections"],
    ],
  },
  {
    text: "Explanation",
    pages: [
      ["One atomic commit", "explanation/one-atomic-commit"],
      ["Exactly once", "explanation/exactly-once"],
      ["Trimming", "explanation/trimming"],
      ["Threads as documents", "explanation/documents"],
      ["Faults", "explanation/faults"],
      ["Threat model", "explanation/threat-model"],
    ],
  },
  {
    text: "Decisions",
    pages: [
      ["Records and commits", "decisions/records-and-commits"],
      ["Backends", "decisions/backends"],
      ["Layers", "decisions/layers"],
      ["Tried and put back", "decisions/tried-and-put-back"],
    ],
  },
  {
    text: "Project",
    pages: [
      ["Changelog", "reference/changelog"],
      ["Security", "reference/security"],
      ["Contributing", "explanation/contributing"],
    ],
  },
];
