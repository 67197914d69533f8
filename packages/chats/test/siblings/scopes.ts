import { dialogue, message } from "../contract/values.ts";
import type { Call, Scope } from "./explore.ts";

const keep = { keepSibling: true };
const create: Call = {
  name: "create",
  adds: ["q", "a", "q2"],
  run: (mine) => mine.create({ id: "c", messages: dialogue("q", "a", "q2") }),
};
const edit = (id: string, of = "q2"): Call => ({
  name: `edit ${of} to ${id}`,
  adds: [id],
  run: (mine) => mine.edit("c", of, message(id), keep),
});
const switchTo = (id: string): Call => ({ name: `switch to ${id}`, run: (mine) => mine.switchTo("c", id) });
const deleteSibling = (id: string): Call => ({
  name: `delete ${id}`,
  erases: [id],
  run: (mine) => mine.deleteSibling("c", id),
});
const truncate: Call = {
  name: "truncate",
  erases: ["a", "q2", "r2", "s2", "x"],
  run: (mine) => mine.truncate("c", { from: "a" }),
};
const remove: Call = { name: "delete the chat", deletes: true, run: (mine) => mine.delete("c") };
const edits: Call = {
  name: "edit twice",
  adds: ["x", "y"],
  async run(mine) {
    await mine.edit("c", "r2", message("x"), keep);
    await mine.edit("c", "x", message("y"), keep);
  },
};
/** q2 is beside the path, r2 on it. */
const forked = [create, edit("r2")];

export const scopes: Readonly<Record<string, Scope>> = {
  "two edits": { before: [create], processes: [edit("x"), edit("y", "a")], crashes: 1 },
  "an edit and a switch": { before: forked, processes: [edit("x", "a"), switchTo("q2")], crashes: 1 },
  "two switches": {
    before: [...forked, edit("s2", "r2")],
    processes: [switchTo("q2"), switchTo("r2")],
    crashes: 1,
  },
  "a switch, and a deletion of its target": {
    before: forked,
    processes: [switchTo("q2"), deleteSibling("q2")],
    crashes: 1,
  },
  "a deletion of a sibling, and two edits": {
    before: forked,
    processes: [deleteSibling("q2"), edits],
    crashes: 0,
  },
  "an edit, and a truncation before it": {
    before: forked,
    processes: [edit("x", "r2"), truncate],
    crashes: 1,
  },
  "an edit, and a deletion of the chat": { before: forked, processes: [edit("x", "r2"), remove], crashes: 1 },
};
