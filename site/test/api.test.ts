import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { entryPoints } from "../entry-points.ts";
import { root } from "../places.ts";

test("the API reference has every entry point of every package, by its import name", () => {
  const entries = new Map(entryPoints().map(({ name, file }) => [name, file]));
  expect(entries.get("@scrollback/store-core")).toBe("packages/store-core/src/index.ts");
  expect(entries.get("@scrollback/agents/group-chat")).toBe("packages/agents/src/group-chat/index.ts");
  expect(entries.get("@scrollback/conformance/servers")).toBe("conformance-tests/servers/index.ts");
  for (const file of entries.values()) expect(readFileSync(join(root, file), "utf8")).toContain("export");
});

test("every entry point except a package's main one describes its purpose", () => {
  for (const { file, description } of entryPoints()) {
    if (description === undefined)
      expect(readFileSync(join(root, file), "utf8"), file).toContain(" * @packageDocumentation\n */\n");
  }
});
