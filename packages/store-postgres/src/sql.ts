import { readFileSync } from "node:fs";

// The build puts the texts into this module, see scripts/embedded-texts.ts.
const read = (name: string) => ({
  name,
  text: readFileSync(new URL(`../sql/${name}`, import.meta.url), "utf8"),
});

/** In their order; the number of the last one is the version of the layout. */
export const sqlFiles = [
  read("001-tables.sql"),
  read("002-commit.sql"),
  read("003-threads.sql"),
  read("004-entries.sql"),
  read("005-conversation.sql"),
  read("006-watch.sql"),
];
