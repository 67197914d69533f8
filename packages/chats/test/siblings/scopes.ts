import { dialogue, fileOf, message } from "../contract/values.ts";
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
const photo = (id: string, content = "photo") => ({ ...message(id), file: fileOf(content) });
const append = (id: string, content?: string): Call => ({
  name: `append ${id}`,
  adds: [id],
  run: (mine) => mine.append("c", [photo(id, content)]),
});
const change = (of: string, id: string, options = {}): Call => ({
  name: `edit ${of} to ${id}`,
  adds: [id],
  erases: [of],
  run: (mine) => mine.edit("c", of, photo(id), options),
});
/** What a process leaves that dies after its commit: the uses of the chat's files are announced. */
const unsettle: Call = {
  name: "unsettle",
  async run(_, stores) {
    const uses = stores.index("files:chats:chat:ada:c");
    for (const { key, id, version, value } of (await uses.list()).entries) {
      const { incarnation, ...use } = Object(value);
      await uses.update({ key, id }, { version: version + 1, order: 0, value: { ...use, base: "before" } });
    }
  },
};
const drop = (...ids: string[]): Call => ({
  name: `drop ${ids}`,
  erases: ids,
  run: (mine) => mine.truncate("c", { from: ids[0] ?? "" }),
});
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
  "two files": { before: [create], processes: [append("x"), append("y")], crashes: 1 },
  "a file, and a drop of another message with it": {
    before: [create, append("p")],
    processes: [append("x"), drop("p", "x")],
    crashes: 1,
  },
  "an edit of a message with a file, and a drop of it": {
    before: [create, append("p")],
    processes: [change("p", "x"), drop("q2", "p", "x")],
    crashes: 1,
  },
  "a file that is left, and its deletion": {
    before: [create, append("p"), change("p", "r", keep)],
    processes: [append("x"), deleteSibling("p")],
    crashes: 1,
  },
  "a file of a dead process comes back to the path, and another one": {
    before: [create, append("p"), edit("r", "p"), unsettle],
    processes: [switchTo("p"), append("z", "other")],
    crashes: 1,
  },
  "a file, and a deletion of the chat": {
    before: [create, append("p")],
    processes: [append("x"), remove],
    crashes: 1,
  },
  "an edit, and a deletion of the chat": { before: forked, processes: [edit("x", "r2"), remove], crashes: 1 },
};
