/** Notes of an owner in a list that is sorted by their last edit: what a layer over `Lists` needs. Prints the list twice. */
import { type Listed, Lists, type Member, nameOf, type Snapshot } from "@scrollback/collections";
import { createMemoryStores } from "@scrollback/store-core";

/** The metadata of a note's thread. */
interface Head {
  incarnation: string;
  writes: number;
  editedAt: number;
  title: string;
  listed: Listed;
}
type Note = Snapshot<string> & { head: Head };

const stores = createMemoryStores();
const lists = new Lists<string, Note>({ stores, onError: console.error });
const index = `notes:${nameOf("ada")}`;

const noteOf = (head: Head, revision: string): Note => ({
  ...{ head, revision, incarnation: head.incarnation, listed: head.listed },
  ...{ version: head.writes, order: head.editedAt, told: head.title },
});
const memberOf = (id: string): Member<string, Note> => {
  const store = stores.open(`note:${nameOf("ada")}:${nameOf(id)}`);
  const commit = async (head: Head, expectedRevision: string | null) =>
    noteOf(head, String(await store.commit({ metadata: head }, { expectedRevision })));
  return {
    ...{ threadId: store.threadId, key: id, bases: [index] },
    async read(signal) {
      const { metadata, revision } = await store.read({ limit: 0, ...(signal && { signal }) });
      return metadata && revision !== null ? noteOf(metadata as Head, revision) : { revision };
    },
    place: ({ head, revision }, listed) => commit({ ...head, listed, writes: head.writes + 1 }, revision),
  };
};
/** Creates or changes a note. */
const write = async (id: string, title: string, editedAt: number) => {
  const member = memberOf(id);
  const found = await member.read();
  const before = found.listed ? found : undefined;
  const incarnation = before?.incarnation ?? crypto.randomUUID();
  const head = { incarnation, writes: (before?.version ?? 0) + 1, editedAt, title };
  const draft = { version: head.writes, order: editedAt, told: title };
  const { listed, revision } = await lists.write(member, before, [index], draft, async (places) => {
    const store = stores.open(member.threadId);
    const options = { expectedRevision: found.revision };
    return { revision: String(await store.commit({ metadata: { ...head, listed: places } }, options)) };
  });
  await lists.tell(member, noteOf({ ...head, listed }, revision));
};

await write("a", "Trams", 1);
await write("b", "Buses", 2);
await write("a", "Trams of Rome", 3);
const list = {
  index,
  direction: "down",
  limit: 10,
  memberOf: ({ key }: { key: string }) => memberOf(key),
} as const;
console.log((await lists.page(list)).items.map(({ told }) => told));
await lists.remove(memberOf("b"));
console.log((await lists.page(list)).items.map(({ told }) => told));
await lists.flush();
