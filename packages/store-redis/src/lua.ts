import { readFileSync } from "node:fs";

// The texts of the scripts. The build puts them into this module, so that a bundled program needs no files beside it.
const read = (name: string) => readFileSync(new URL(`../lua/${name}.lua`, import.meta.url), "utf8");

export const commitLua = read("commit");
export const deleteLua = read("delete");
export const entriesLua = read("entries");
export const readRangeLua = read("read-range");
