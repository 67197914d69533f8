import { createMemoryStores } from "@scrollback/store-core";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { SiblingGroup } from "../../src/chat.ts";
import { ChatStore } from "../../src/index.ts";
import type { ContractMessage } from "../contract/contract.ts";
import { message, textsIn } from "../contract/values.ts";

interface Node {
  readonly id: string;
  children: Node[];
  /** The child on the path that goes through the node. */
  active?: Node | undefined;
}

/** A chat as a tree: the path follows the active children. */
class Tree {
  readonly root: Node = { id: "", children: [] };

  get path(): Node[] {
    const path: Node[] = [];
    for (let node = this.root.active; node; node = node.active) path.push(node);
    return path;
  }

  before(index: number): Node {
    return this.path[index - 1] ?? this.root;
  }

  add(parent: Node, id: string): void {
    const node = { id, children: [] };
    parent.children.push(node);
    parent.active = node;
  }

  remove(parent: Node, id: string): void {
    parent.children = parent.children.filter((child) => child.id !== id);
    if (parent.active?.id === id) parent.active = undefined;
  }

  /** Takes one message from the path: what follows it moves up, and what else hangs behind it goes. */
  skip(index: number): void {
    const parent = this.before(index);
    const { id, active } = this.path[index] as Node;
    this.remove(parent, id);
    if (active) parent.children.push(active);
    parent.active = active;
  }

  get groups(): SiblingGroup[] {
    return [this.root, ...this.path].flatMap(({ id, children, active }) =>
      children.length > (active ? 1 : 0)
        ? [
            {
              behind: id === "" ? null : id,
              ids: children.map((child) => child.id).toSorted((one, other) => Number(one) - Number(other)),
              ...(active && { active: active.id }),
            },
          ]
        : [],
    );
  }
}

const step = fc.record({
  verb: fc.constantFrom("append", "edit", "edit", "drop", "truncate", "switch", "switch", "forget", "skip"),
  at: fc.nat(),
  which: fc.nat(),
});

test("random histories: a chat is what a tree of its messages is", { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      let time = 0;
      const chats = new ChatStore<ContractMessage>({
        stores: createMemoryStores(),
        now: () => ++time,
        maxSiblings: 100,
      });
      const mine = chats.of("ada");
      const tree = new Tree();
      let made = 0;
      const newMessage = () => message(String(++made), made % 2 === 1 ? "user" : "assistant");
      await mine.create({ id: "c" });
      for (const { verb, at, which } of steps) {
        const { path } = tree;
        const index = path.length === 0 ? 0 : at % path.length;
        const node = path[index];
        const parent = tree.before(index);
        const others = parent.children.filter((child) => child !== parent.active);
        const other = others[others.length === 0 ? 0 : which % others.length];
        if (verb === "append") {
          const next = newMessage();
          await mine.append("c", [next]);
          tree.add(path.at(-1) ?? tree.root, next.id);
        } else if (verb === "edit" && node) {
          const next = newMessage();
          await mine.edit("c", node.id, next, { keepSibling: true });
          tree.add(parent, next.id);
        } else if (verb === "drop" && node && Number(node.id) % 2 === 0) {
          await mine.dropAnswer("c", node.id, { keepSibling: true });
          parent.active = undefined;
        } else if (verb === "truncate" && node) {
          await mine.truncate("c", { from: node.id });
          tree.remove(parent, node.id);
        } else if (verb === "switch" && other) {
          await mine.switchTo("c", other.id);
          parent.active = other;
        } else if (verb === "forget" && other) {
          await mine.deleteSibling("c", other.id);
          tree.remove(parent, other.id);
        } else if (verb === "skip" && node) {
          await mine.deleteMessage("c", node.id);
          tree.skip(index);
        }
        expect(await textsIn(mine, "c")).toEqual(tree.path.map(({ id }) => id));
        const { siblings = [] } = (await mine.get("c")) ?? {};
        const byPlace = (one: SiblingGroup, two: SiblingGroup) => Number(one.behind) - Number(two.behind);
        expect(siblings.toSorted(byPlace)).toEqual(tree.groups.toSorted(byPlace));
      }
      await chats.flush();
    }),
    { numRuns: 150 },
  );
});
