/** Checks the built site: links and pictures lead to its files, anchors to elements, and no page loads from other hosts. */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { built } from "./places.ts";

export function checkLinks(): string[] {
  const files = globSync("**/*.html", { cwd: built }).sort();
  const texts = new Map(files.map((file) => [file, readFileSync(join(built, file), "utf8")]));
  const anchors = new Map([...texts].map(([file, text]) => [file, idsIn(text)]));
  const problems: string[] = [];
  for (const [file, text] of texts) {
    for (const [, name, link = ""] of text.matchAll(/\s(href|src)="([^"]*)"/g)) {
      if (/^(https?:|mailto:|data:)/.test(link)) {
        if (name === "src") problems.push(`${file}: loads ${link} from elsewhere`);
        continue;
      }
      const [path = "", hash = ""] = link.replaceAll("&amp;", "&").split("#");
      const target = path === "" ? file : fileOf(file, decodeURI(path));
      if (!existsSync(join(built, target))) problems.push(`${file}: ${link} leads nowhere`);
      else if (hash && target.endsWith(".html") && !anchors.get(target)?.has(decodeURIComponent(hash))) {
        problems.push(`${file}: ${link} has no such heading`);
      }
    }
  }
  return [...new Set(problems)];
}

const idsIn = (text: string) => new Set([...text.matchAll(/\sid="([^"]*)"/g)].map(([, id = ""]) => id));

function fileOf(from: string, path: string): string {
  const file = path.startsWith("/") ? path.slice(1) : join(dirname(from), path);
  return file === "" || file.endsWith("/") ? join(file, "index.html") : file;
}
