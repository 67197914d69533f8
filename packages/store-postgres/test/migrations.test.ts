import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { setupScript } from "../src/migrations.ts";

test("the script runs every file of SQL, in order, each in a transaction of its own", () => {
  const script = setupScript("scrollback");
  const names = [...script.matchAll(/^INSERT INTO "scrollback"\.migrations .* VALUES \((\d+), '(.*)'\);$/gm)];
  const files = readdirSync(new URL("../sql", import.meta.url)).sort();
  expect(names.map(([, number, name]) => [Number(number), name])).toEqual(
    files.map((name, index) => [index + 1, name]),
  );
  expect(files.map((name) => Number.parseInt(name, 10))).toEqual(files.map((_, index) => index + 1));
  for (const word of ["BEGIN", "COMMIT"])
    expect(script.match(new RegExp(`^${word};$`, "gm"))).toHaveLength(files.length);
});

test("the script names another schema everywhere", () => {
  const script = setupScript(`it's "mine" $&`);
  expect(script).not.toContain('"scrollback"');
  expect(script).toContain(`CREATE FUNCTION "it's ""mine"" $&".commit_v1(`);
});
