/** The next step of the scripted model: words of text, a tool call, or a failure. */
export type Step =
  | { readonly text: string; readonly wordMs?: number }
  | { readonly tool: "deleteFile" | "askUser"; readonly input: unknown }
  | { readonly failure: string };

/** The turn that the model continues. */
export interface Turn {
  /** The user's last message. */
  readonly text: string;
  /** The result of the last tool call of this turn, `{}` for a denied one; undefined without a result. */
  readonly output?: Readonly<Record<string, unknown>> | undefined;
}

interface Scene {
  readonly when: RegExp;
  readonly title: string;
  play(turn: Turn): readonly Step[];
}

const scenes: readonly Scene[] = [
  {
    when: /\bdelete\b/i,
    title: "Delete a file",
    play({ text, output }) {
      const [name = "draft.txt"] = /[\w-]+\.\w+/.exec(text) ?? [];
      if (output === undefined)
        return [{ text: `I can delete \`${name}\` for you.` }, { tool: "deleteFile", input: { name } }];
      if (output.deleted === true)
        return [{ text: `Done. \`${name}\` is deleted. The other files are as they were.` }];
      if (output.deleted === false)
        return [{ text: `There is no file \`${name}\`, so nothing was deleted.` }];
      return [{ text: `I left \`${name}\` where it is.` }];
    },
  },
  {
    when: /\b(weekend|trip|travel)\b/i,
    title: "A weekend away",
    play({ output }) {
      if (typeof output?.answer === "string") return [{ text: weekend(output.answer) }];
      const question = "What should the weekend be mostly about?";
      return [
        { text: "Happy to. One question first." },
        { tool: "askUser", input: { question, options: ["Food", "Museums", "A long walk"] } },
      ];
    },
  },
  {
    when: /\b(stored?|kept|keep|save|saved)\b/i,
    title: "How chats are stored",
    play: () => [{ text: STORED }],
  },
  { when: /\btram\b/i, title: "Trams to the harbour", play: () => [{ text: TRAMS }] },
  {
    when: /\bcount to \d+/i,
    title: "Counting",
    play: ({ text }) => [{ text: numbers(Number(/\d+/.exec(text)?.[0])), wordMs: 60 }],
  },
  {
    when: /\btake your time\b/i,
    title: "A slow answer",
    play: () => [{ text: "Patience is a virtue.", wordMs: 60_000 }],
  },
  {
    when: /\bfail\b/i,
    title: "A failure on purpose",
    play: () => [
      { text: "This answer will break off in the middle, because" },
      { failure: "the scripted model was asked to fail" },
    ],
  },
];

/** The steps that answer a turn. */
export function play(turn: Turn): readonly Step[] {
  const scene = scenes.find(({ when }) => when.test(turn.text));
  return scene?.play(turn) ?? [{ text: echo(turn.text) }];
}

/** A title for a chat that begins with `text`. */
export function titleFor(text: string): string {
  const scene = scenes.find(({ when }) => when.test(text));
  return scene?.title ?? (text.trim().split(/\s+/).slice(0, 6).join(" ") || "A chat");
}

const numbers = (last: number) => Array.from({ length: Math.min(last, 1_000) }, (_, i) => i + 1).join(" ");

const echo = (text: string) => `You wrote: “${text.trim()}”

I am a script, so I know a few things only. Ask me:

- which tram goes to the harbour
- how this chat is stored
- to plan a weekend, which makes me ask you something
- to delete \`draft.txt\`, which needs your approval
- to count to 120, to have time to stop me

Set \`OPENAI_API_KEY\` or \`AI_GATEWAY_API_KEY\` to talk to a real model.`;

const TRAMS = `**Line 4** goes straight to the harbour. Line 8 is slower but runs later.

| Line | From the station | Every | Last tram |
| ---- | ---------------- | ----- | --------- |
| 4    | 11 minutes       | 10 minutes | 23:40 |
| 8    | 19 minutes       | 15 minutes | 01:10 |

Get off at *Harbour Square*. The ferries leave from the other side of the hall.`;

const STORED = `Each chat is **one thread** in a Scrollback store. A message and everything the list shows of its chat (title, time, count) are one compare-and-set commit, so they never disagree.

1. Your message is committed *before* the model is called.
2. While I answer, the server saves what there is every two seconds.
3. If you close the tab, the answer goes on. Come back and it is here.

The server needs three lines:

\`\`\`ts
const stores = await openStores("sqlite:chats.db");
const chats = new ChatStore({ stores, ...uiMessages({ tools }) });
const chat = createChatHandler({ chats, model, tools });
\`\`\`

Replace the URL by \`redis://…\`, \`mongodb://…\`, \`dynamodb://…\` or \`postgres://…\`, and nothing else changes.`;

const weekend = (about: string) => `A weekend for **${about.toLowerCase()}**, without a car:

- Saturday: the covered market, the old harbour by line 4, dinner in the brewers' quarter
- Sunday: a late breakfast by the canal, then the train home at 17:12

> Book the dinner now. The rest needs no tickets.`;
