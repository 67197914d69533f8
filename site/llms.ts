/** Writes the files for language models: `llms.txt` (a list of pages), `llms-full.txt` (all prose), each page as Markdown. */
import { cpSync, globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { navigation } from "./navigation.ts";
import { built, staged } from "./places.ts";

const summary =
  "Persistent message stores for AI agents, in TypeScript. A conversation survives restarts, is trimmed without cutting a tool call from its result, " +
  "is written exactly once however often a write is retried, and reads the same on SQLite, Redis, MongoDB, DynamoDB and PostgreSQL.";

export function writeLlms(): void {
  for (const page of globSync("**/*.md", { cwd: staged })) cpSync(join(staged, page), join(built, page));
  const list = ["# Scrollback", "", `> ${summary}`, ""];
  const full = ["# Scrollback", "", summary, ""];
  for (const { text, pages } of navigation) {
    list.push(`## ${text}`, "");
    for (const [title, place] of pages) {
      const page = readFileSync(join(staged, `${place}.md`), "utf8");
      list.push(`- [${title}](/${place}.md)${describe(page)}`);
      if (text !== "Decisions" && text !== "Project") full.push(page, "");
    }
    list.push("");
  }
  writeFileSync(join(built, "llms.txt"), list.join("\n"));
  writeFileSync(join(built, "llms-full.txt"), full.join("\n"));
}

/** The first sentence of a page's prose, without its links. */
function describe(page: string): string {
  const paragraph = page.split(/\n\s*\n/).find((block) => /^[A-Z*`[]/.test(block));
  const prose = paragraph?.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/\s+/g, " ");
  const sentence = prose?.match(/^.*?[.:](?=\s|$)/)?.[0];
  return sentence ? `: ${sentence.replace(/:$/, ".")}` : "";
}
