import type { Plugin } from "esbuild";

/**
 * Puts the texts that a package reads from its Lua and SQL files, and the page of the command line's inspector, into the bundle, so that a
 * program needs no files beside it.
 */
export const embeddedTexts: Plugin = {
  name: "embedded-texts",
  setup({ onLoad }) {
    onLoad({ filter: /\/(store-\w+\/src\/(lua|sql)|cli\/src\/ui\/page-files)\.ts$/ }, async ({ path }) => {
      const values = Object.entries(await import(path));
      const contents = values.map(([name, value]) => `export const ${name} = ${JSON.stringify(value)};`);
      return { contents: contents.join("\n") };
    });
  },
};
