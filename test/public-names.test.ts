import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { entryPoints } from "../site/entry-points.ts";

const root = join(import.meta.dirname, "..");
const files = execFileSync("git", ["ls-files"], { cwd: root, encoding: "utf8", maxBuffer: 2 ** 26 })
  .trim()
  .split("\n")
  .filter((file) => existsSync(join(root, file)));
const text = (file: string) => readFileSync(join(root, file), "utf8");

/** The names that a module exports, with those of the modules that it exports whole. */
function namesOf(file: string): string[] {
  const source = text(file).replace(/\/\*.*?\*\//gs, "");
  const listed = [...source.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = ""]) =>
    list.split(",").map(
      (item) =>
        item
          .trim()
          .replace(/^type /, "")
          .split(" as ")
          .at(-1) ?? "",
    ),
  );
  const declared = [
    ...source.matchAll(/^export (?:abstract |async )?(?:const|function\*?|class|interface|type) (\w+)/gm),
  ].map(([, name = ""]) => name);
  const whole = [...source.matchAll(/^export (?:type )?\* from "(\.[^"]+)"/gm)].flatMap(([, from = ""]) =>
    namesOf(join(dirname(file), from)),
  );
  return [...new Set([...listed, ...declared, ...whole].filter((name) => name !== ""))].sort();
}

const entries = entryPoints().map(({ name, file }) => ({ name, names: namesOf(file) }));

describe("the public names", () => {
  test("are those of the reviewed list; run vitest with -u after a review of the change", async () => {
    const lines = entries.map(
      ({ name, names }) => `${name} (${names.length})\n${names.map((one) => `  ${one}\n`).join("")}`,
    );
    await expect(lines.join("\n")).toMatchFileSnapshot("public-names.txt");
  });

  test("are at most 243 in all, and at most 33 of store-core are for applications", () => {
    expect(entries.flatMap(({ names }) => names).length).toBeLessThanOrEqual(243);
    expect(namesOf("packages/store-core/src/index.ts").length).toBeLessThanOrEqual(33);
  });

  test("do not include those that our packages alone share, at most 68 a package", () => {
    const shared = files.filter((file) =>
      /^(?:packages\/[^/]+\/src|conformance-tests\/\w+)\/internal\.ts$/.test(file),
    );
    expect(shared.length).toBeGreaterThan(1);
    for (const file of shared) expect(namesOf(file).length, file).toBeLessThanOrEqual(68);
  });
});

test("only our packages and their tests import what is internal", () => {
  const ours = /^(?:packages|conformance-tests|test)\//;
  const others = files.filter(
    (file) => /\.(?:ts|tsx|vue|md)$/.test(file) && !(ours.test(file) && !file.endsWith(".md")),
  );
  expect(others.length).toBeGreaterThan(100);
  expect(others.filter((file) => /from "@scrollback\/[a-z/-]+\/internal"/.test(text(file)))).toEqual([]);
});
