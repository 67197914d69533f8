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
      ["Deploy", "how-to/deploy"],
      ["Manage threads, separate tenants", "how-to/manage-threads"],
      ["Retain and erase", "how-to/retention-and-erasure"],
      ["Encrypt and rotate keys", "how-to/encryption"],
      ["Files", "how-to/files"],
      ["Inspect in a browser", "how-to/inspect"],
      ["Observe", "how-to/observability"],
      ["A chat fails at every turn", "how-to/repair-a-chat"],
      ["Test your app", "how-to/test-your-app"],
      ["Back up, restore, move", "how-to/backup-and-restore"],
      ["Migrate", "how-to/migrate"],
      ["Write an adapter", "how-to/write-an-adapter"],
    ],
  },
  {
    text: "Use with a framework",
    pages: [
      ["One conversation, many frameworks", "how-to/one-conversation-many-frameworks"],
      ["AI SDK", "how-to/ai-sdk"],
      ["A chat with Next.js", "how-to/nextjs"],
      ["A web chat in React", "how-to/web-chat"],
      ["OpenAI or Anthropic SDK, other messages", "how-to/message-types"],
      ["LangGraph and LangChain", "how-to/bridge-langgraph"],
      ["Other agent frameworks", "how-to/bridges"],
    ],
  },
  {
    text: "Reference",
    pages: [
      ["API", "reference/api/index"],
      ["The protocol", "reference/protocol"],
      ["Options", "reference/options"],
      ["Errors", "reference/errors"],
      ["Codecs", "reference/codecs"],
      ["Command line", "reference/cli"],
      ["Compatibility, versions", "reference/compatibility"],
      ["Benchmarks", "generated/benchmarks"],
      ["Comparison", "reference/comparison"],
    ],
  },
  {
    text: "Backends",
    pages: [
      ["SQLite", "reference/store-sqlite"],
      ["libSQL", "reference/store-libsql"],
      ["Redis", "reference/store-redis"],
      ["MongoDB", "reference/store-mongo"],
      ["DynamoDB", "reference/store-dynamo"],
      ["PostgreSQL", "reference/store-postgres"],
      ["Cloudflare", "reference/store-cloudflare"],
      ["The contract of an adapter", "reference/adapter-contract"],
    ],
  },
  {
    text: "Layers",
    pages: [
      ["Agents, group chats", "reference/agents"],
      ["Sessions", "reference/sessions"],
      ["Chats", "reference/chats"],
      ["AI SDK: routes, requests, answers", "reference/ai-sdk"],
      ["Reducers", "reference/reducers"],
      ["Indexes, lists, records", "reference/collections"],
    ],
  },
  {
    text: "Explanation",
    pages: [
      ["One atomic commit, exactly once", "explanation/one-atomic-commit"],
      ["Trimming", "explanation/trimming"],
      ["Threads as documents", "explanation/documents"],
      ["Threat model", "explanation/threat-model"],
    ],
  },
  {
    text: "Decisions",
    pages: [
      ["Decisions", "decisions/decisions"],
      ["Tried and put back", "decisions/tried-and-put-back"],
    ],
  },
  {
    text: "Project",
    pages: [
      ["The suite's tests", "generated/tests"],
      ["Changelog", "reference/changelog"],
      ["Security", "reference/security"],
      ["Contributing", "explanation/contributing"],
    ],
  },
];
