import { readFileSync } from "node:fs";

// The build puts the texts into this module, see scripts/embedded-texts.ts.
const read = (name: string) => readFileSync(new URL(`../lua/${name}`, import.meta.url), "utf8");

export const commitLua = read("commit.lua");
export const deleteLua = read("delete.lua");
export const entriesLua = read("entries.lua");
export const readRangeLua = read("read-range.lua");
