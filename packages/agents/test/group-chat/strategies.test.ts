import type { ChatMessage } from "@scrollback/store-core";
import { describe, expect, test } from "vitest";
import {
  AgentGroupChat,
  AggregateTermination,
  ModelSelection,
  ModelTermination,
  RegexTermination,
} from "../../src/group-chat/index.ts";
import { failureOf, prompts, scripted } from "../models.ts";
import { listen, message, three, user } from "./cast.ts";

describe("ModelSelection", () => {
  const history = [
    user("Hi"),
    message("A", "a word"),
    message("B", " "),
    { ...user("Bye"), authorName: "Ada" },
  ];
  const asked = (model: ReturnType<typeof scripted>) =>
    (prompts(model).at(-1) ?? []).map(({ content }) =>
      typeof content === "string" ? content : content.map((part) => ("text" in part ? part.text : "")).join(),
    );

  test("sends names and history without blank messages to the model, and selects the answered name", async () => {
    const model = scripted(' "B".\n');
    const selection = new ModelSelection({ model, prompt: "Who is next?" });
    expect((await selection.next(three(), history)).id).toBe("b");
    expect(asked(model)).toEqual([
      "Who is next?",
      [
        "Agents:\nA\nB\nC\n\nHistory:",
        '{"role":"user","content":"Hi"}',
        '{"role":"assistant","name":"A","content":"a word"}',
        '{"role":"user","name":"Ada","content":"Bye"}',
      ].join("\n"),
    ]);
  });

  test("sends only names with namesOnly, and the reduced history with a reducer", async () => {
    const model = scripted("A", "A");
    await new ModelSelection({ model, namesOnly: true }).next(three(), history);
    expect(asked(model)[1]).toBe("Agents:\nA\nB\nC\n\nHistory:\nA\nAda");
    const historyReducer = { reduce: async (messages: readonly ChatMessage[]) => messages.slice(-1) };
    await new ModelSelection({ model, historyReducer }).next(three(), history);
    expect(asked(model)[1]).toBe(
      'Agents:\nA\nB\nC\n\nHistory:\n{"role":"user","name":"Ada","content":"Bye"}',
    );
  });

  test("parseResult finds the name in an answer", async () => {
    const selection = new ModelSelection({
      model: scripted('{"next":"C"}'),
      parseResult: (answer) => JSON.parse(answer).next,
    });
    expect((await selection.next(three(), [])).id).toBe("c");
  });

  test.each([
    ["no result", "  ", "Agent Failure - Strategy unable to determine next agent"],
    ["an unknown name", "Zoe", "Agent Failure - Strategy unable to select next agent"],
  ])("%s fails, unless the initial agent is the fallback", async (_what, answer, problem) => {
    const [a, b, c] = three();
    const chat = (useInitialAgentAsFallback: boolean) =>
      new AgentGroupChat({
        agents: [a, b, c],
        initialAgent: c,
        maximumIterations: 2,
        selection: new ModelSelection({ model: scripted(answer), useInitialAgentAsFallback }),
      });
    const error = await failureOf(listen(chat(false).invoke()));
    expect(error).toMatchObject({ code: "NOT_FOUND", message: expect.stringContaining(problem) });
    expect(await listen(chat(true).invoke())).toEqual(["C: C 2", "C: C 3"]);
    const none = new ModelSelection({ model: scripted(answer), useInitialAgentAsFallback: true });
    expect(await failureOf(none.next([a, b], []))).toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("termination", () => {
  const [a, b] = three();

  test("a scope: turns of other agents never end the chat", async () => {
    const chat = new AgentGroupChat({
      agents: [a, b],
      maximumIterations: 5,
      termination: { agents: [b], shouldTerminate: async () => true },
    });
    expect(await listen(chat.invoke())).toHaveLength(2);
    for (const termination of [
      new RegexTermination(/./, { agents: [b] }),
      new ModelTermination({ model: scripted("yes"), agents: [b] }),
      new AggregateTermination([() => true], "all", { agents: [b] }),
    ]) {
      const scoped = new AgentGroupChat({ agents: [a, b], maximumIterations: 5, termination });
      expect(await listen(scoped.invoke())).toHaveLength(2);
      expect(scoped.isComplete).toBe(true);
    }
  });

  test.each([
    ["yes", true],
    ["Yes, all is said.", true],
    ["TRUE", true],
    ['"true"', true],
    ["no", false],
    ["yesterday", false],
    ["It is not, yes", false],
    ["", false],
  ])("ModelTermination parses %j as %s", async (answer, ends) => {
    expect(await new ModelTermination({ model: scripted(answer) }).shouldTerminate(a, [])).toBe(ends);
  });

  test("ModelTermination sends the prompt and the history, and parseResult interprets the answer", async () => {
    const model = scripted("done");
    const termination = new ModelTermination({
      model,
      prompt: "Over?",
      parseResult: (answer) => answer === "done",
    });
    expect(await termination.shouldTerminate(a, [user("Hi"), message("A", "x")])).toBe(true);
    expect(JSON.stringify(prompts(model))).toMatch(/Over\?.*Agent: A.*History/);
    expect(JSON.stringify(prompts(model))).toContain("Hi");
  });

  test("RegexTermination tests only the last message, each time from its beginning", async () => {
    const termination = new RegexTermination([/approved/gi, "^done$"]);
    const ends = (...texts: string[]) => termination.shouldTerminate(a, texts.map(user));
    expect(await ends("Approved!")).toBe(true);
    expect(await ends("Approved!")).toBe(true);
    expect(await ends("x", "done")).toBe(true);
    expect(await ends("approved", "x")).toBe(false);
    expect(await ends("all done")).toBe(false);
    expect(await ends()).toBe(false);
  });

  test("AggregateTermination calls all terminations, each in its scope: all must agree, or any", async () => {
    const asked: number[] = [];
    const says = (answer: boolean, index: number) => () => {
      asked.push(index);
      return answer;
    };
    const ends = (condition: "all" | "any" | undefined, ...answers: boolean[]) =>
      new AggregateTermination(answers.map(says), condition).shouldTerminate(a, []);
    expect(await ends(undefined, true, false)).toBe(false);
    expect(await ends("all", true, true)).toBe(true);
    expect(await ends("any", true, false, false)).toBe(true);
    expect(await ends("any", false, false)).toBe(false);
    expect(asked).toEqual([0, 1, 0, 1, 0, 1, 2, 0, 1]);
    const scoped = { agents: [b], shouldTerminate: async () => true };
    expect(await new AggregateTermination([scoped, () => true]).shouldTerminate(a, [])).toBe(false);
    expect(await new AggregateTermination([scoped, () => true]).shouldTerminate(b, [])).toBe(true);
  });
});
