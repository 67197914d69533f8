import { SUMMARY_INSTRUCTIONS } from "@scrollback/reducers";
import { MockLanguageModelV4 } from "ai/test";

/**
 * An offline replacement for a model. It knows only the facts about the user in its prompt. For a summary, it writes the state
 * of the plan and repeats these facts.
 */
export function scriptedModel(): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    async doGenerate({ prompt }) {
      const said = prompt.flatMap(({ role, content }) =>
        role === "system" ? [] : content.map((part) => (part.type === "text" ? part.text : "")),
      );
      const known = [...new Set(said.join(" ").match(/(My name is|I am allergic to) \w+\./g))].join(" ");
      const days =
        said
          .join(" ")
          .match(/day \d+/g)
          ?.at(-1) ?? "no day yet";
      const [first] = prompt;
      const text =
        first?.role === "system" && first.content === SUMMARY_INSTRUCTIONS
          ? `The user said: ${known} They planned up to ${days}.`
          : said.at(-1) === "What do you know about me?"
            ? `You said: ${known}`
            : `Noted (${said.at(-1)})`;
      return {
        content: [{ type: "text", text }],
        finishReason: { unified: "stop", raw: undefined },
        usage: {
          inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
          outputTokens: { total: undefined, text: undefined, reasoning: undefined },
        },
        warnings: [],
      };
    },
  });
}
