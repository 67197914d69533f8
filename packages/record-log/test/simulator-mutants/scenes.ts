// Exceeds 300 lines because it holds one scene for each rule that a random run breaks too rarely.
import { StoreError } from "@scrollback/store-core";
import type { SimulatedClient } from "../../src/simulator/client.ts";
import type { DirectedChange, DirectedRun } from "../../src/simulator/directed-run.ts";
import { SimulationFailure } from "../../src/simulator/failure.ts";
import { DAY, HOUR, MINUTE } from "../../src/simulator/network.ts";

/**
 * By rule: a simulated run that follows a script and that a driver without the rule fails. It needs several rare events at the
 * right moments, which random runs hardly ever combine.
 */
export type Scene = (run: DirectedRun) => Promise<void>;

const message = { append: "u" } as const;
const few: DirectedChange = { append: "u", settings: { maxMessages: 3 } };
const expiring = (ttlMs: number, change: DirectedChange = message): DirectedChange => ({
  ...change,
  settings: { ttlMs },
});

/** For this number of days a client writes many messages and keeps few, and the backend deletes the freed rows. */
async function passDays(run: DirectedRun, client: SimulatedClient, days: number): Promise<void> {
  for (let day = 0; day < days; day++) {
    await run.commitEach(client, 100, few);
    await run.wait(DAY);
    run.deleteExpired();
  }
}

/**
 * A thread whose lowest rows are: one message; the commits of `second`; six rows without messages; then `rows` rows of 12
 * messages. A reader of the oldest 4 messages finds the end of the messages in the lowest rows, if it can.
 */
async function makeOldestRows(
  run: DirectedRun,
  writer: SimulatedClient,
  second: () => Promise<unknown>,
  rows: number,
): Promise<void> {
  await run.commit(writer, message);
  await second();
  await run.commitEach(writer, 5, { setsMetadata: true });
  await run.commitEach(writer, rows, { append: "uouououououo" });
}

const oldest = { after: 0, limit: 4 } as const;

export const scenes: Readonly<Record<string, Scene>> = {
  async "a raise is a row of its own"(run) {
    const [raising, other] = run.clients;
    await run.commit(raising, expiring(HOUR, { append: "uu" }));
    const sent = run.direct(raising, /insert .*\(o2\)/, { requestMs: 12 * DAY });
    const late = run.commit(raising, expiring(30 * DAY));
    await sent;
    await run.commit(other, expiring(HOUR, { drop: 1 }));
    await run.wait(6 * DAY);
    // All rows of the other client are deleted, and its key is free.
    run.deleteExpired();
    await late;
  },

  async "only rows that were promised are extended"(run) {
    const [client] = run.clients;
    await run.commitEach(client, 2, expiring(7 * DAY));
    await run.commit(client, expiring(7 * DAY, { drop: 1 }));
    await run.commitEach(client, 100, expiring(7 * DAY));
    // The row of the dropped message is freed and not yet deleted.
    await run.commitEach(client, 40, expiring(30 * DAY));
  },

  async "rows are kept as long as those of before"(run) {
    const [crashing, first, second] = run.clients;
    await run.commit(first, expiring(30 * DAY));
    await run.read(crashing);
    const sent = run.direct(crashing, /insert/, { requestMs: 4 * DAY, crashes: true });
    void run.commit(crashing, expiring(30 * DAY));
    await sent;
    await run.commit(first, expiring(HOUR));
    await run.wait(2 * HOUR);
    await run.commitEach(second, 100, expiring(HOUR));
    await run.wait(3 * DAY);
    run.deleteExpired();
    // The late row now expires in weeks, by its own head.
    await run.wait(3 * DAY);
    run.deleteExpired();
    await run.read(first);
  },

  async "a root is kept while the next is inserted"(run) {
    const [first, second] = run.clients;
    await run.commit(first, expiring(HOUR));
    const root = run.model.rows.get(1)?.row.expiresAt ?? 0;
    await run.wait(root - run.scheduler.now - 1_000);
    run.deleteExpired();
    const sent = run.direct(first, /insert .*\(root/, { requestMs: 3_000 });
    const beginning = run.commit(first, expiring(HOUR));
    await sent;
    await run.wait(1_500);
    run.deleteExpired();
    await run.commit(second, expiring(HOUR));
    await beginning;
  },

  async "a root is kept until the next one has arrived"(run) {
    const [late, writer, closing] = run.clients;
    await run.commit(late, expiring(HOUR));
    const root = run.model.rows.get(1)?.row.expiresAt ?? 0;
    await run.wait(root - run.scheduler.now - 32 * HOUR);
    await hideLateRoot(run, late, writer, closing);
  },

  async "a root is kept until a deletion and the next root have arrived"(run) {
    const [late, writer, deleting] = run.clients;
    await run.commit(writer, message);
    const released = run.direct(deleting, /amend/, { requestMs: 13 * DAY });
    const deletion = run.delete(deleting);
    await released;
    await run.wait(13 * DAY - HOUR);
    await hideLateRoot(run, late, writer, deleting);
    await deletion;
  },

  async "a row names the token of the row below"(run) {
    const [writer, retrying] = run.clients;
    await run.commitEach(writer, 3, message);
    const operation = run.operation(message);
    await run.commitOperation(writer, operation);
    const stored = run.model.end;
    await run.commitEach(writer, 3, message);
    if (!stored) throw new RangeError("the thread has an end");
    // The row is replaced by the row of another operation, as after restoring a copy that continued elsewhere.
    const { row } = stored;
    const head = JSON.stringify({ ...JSON.parse(row.head), t: "another token", o: "another operation" });
    run.model.rows.replace(stored, { ...row, head });
    await expectDamageFound(run.commitOperation(retrying, operation, "another caller"));
    run.model.rows.replace(stored, row);
  },

  async "a late row without a commit starts over"(run) {
    const [client] = run.clients;
    await run.commit(client, message);
    void run.direct(client, /insert .*\(no commit\)/, { requestMs: 4 * MINUTE });
    const second = run.direct(client, /insert .*\(no commit\)/, { requestMs: 1_000 });
    const uploading = run.commit(client, { append: "uu", isLarge: true });
    await second;
    // Late for the current fragment, but not for the attempt as a whole.
    client.setClock(-5.5 * MINUTE);
    await uploading;
  },

  async "a winner that is returned late is not the end"(run) {
    const [paused, other] = run.clients;
    await run.commit(paused, message);
    await run.commit(other, message);
    const sent = run.direct(paused, /insert/, { replyMs: 3 * DAY + HOUR });
    const losing = run.commit(paused, message);
    await sent;
    await passDays(run, other, 3);
    await losing;
  },

  async "a closing row that came late proves nothing"(run) {
    const [late, writer] = run.clients;
    await run.commit(writer, expiring(HOUR));
    await run.read(late);
    const operation = run.operation(expiring(HOUR));
    const sent = run.direct(late, /insert/, { requestMs: 99 * HOUR, isReplyLost: true });
    const losing = run.commitOperation(late, operation);
    await sent;
    await run.commit(writer, expiring(HOUR));
    await run.wait(98.5 * HOUR);
    // All rows of the thread are deleted but its root, so the late row finds its key free.
    run.deleteExpired();
    await losing;
    void run.direct(late, /insert/, { isReplyLost: true });
    // Closes the incarnation on the late row, then tries again.
    await run.commitOperation(late, operation);
    await run.commitOperation(late, operation);
  },

  async "what was read over 5 minutes is not trusted"(run) {
    const [paused, other] = run.clients;
    await run.commitEach(other, 2, message);
    const sent = run.direct(paused, /read/, { replyMs: 3 * DAY + HOUR });
    const learning = run.commit(paused, message);
    await sent;
    await passDays(run, other, 3);
    await learning;
  },

  async "a row that is needed is part of the thread"(run) {
    const [unlucky, other] = run.clients;
    await run.commit(unlucky, message);
    const operation = run.operation(message);
    void run.direct(unlucky, /insert/, { isReplyLost: true });
    await run.commitOperation(unlucky, operation);
    // The row after it is dead when the metadata is set again.
    await run.commitEach(other, 2, { setsMetadata: true });
    await run.commitEach(other, 130, message);
    await run.wait(3 * DAY);
    run.deleteExpired();
    await run.commitOperation(unlucky, operation);
  },

  async "freed keys are kept for 48 h"(run) {
    const [slow, other] = run.clients;
    await run.commit(slow, message);
    const sent = run.direct(slow, /insert/, { requestMs: 10 * HOUR });
    const committing = run.commit(slow, message);
    await sent;
    await run.commitEach(other, 200, few);
    await run.wait(5 * HOUR);
    run.deleteExpired();
    await committing;
  },

  async "heads carry uploads"(run) {
    const [crashing, other] = run.clients;
    await run.commit(crashing, message);
    void run.direct(crashing, /insert .*\(no commit\)/, {});
    const second = run.direct(crashing, /insert .*\(no commit\)/, { crashes: true });
    void run.commit(crashing, { append: "uu", isLarge: true });
    await second;
    await run.commitEach(other, 170, message);
  },

  async "blank texts are no messages"(run) {
    const [writer, reader] = run.clients;
    const dropAll = async () => {
      await run.commit(writer, { append: "uuuuu" });
      await run.commit(writer, { drop: 5 });
    };
    // The collection has blanked them, so no head lists them any more.
    await makeOldestRows(run, writer, dropAll, 40);
    await run.read(reader, oldest);
  },

  async "texts listed as dead are no messages"(run) {
    const [writer, reader] = run.clients;
    const dropSome = async () => {
      await run.commit(writer, { append: "uuuuu" });
      await run.commit(writer, { drop: 3 });
    };
    await makeOldestRows(run, writer, dropSome, 23);
    await run.read(reader, oldest);
  },

  async "rows listed as dead have no messages"(run) {
    const [writer, reader] = run.clients;
    const dropAll = async () => {
      await run.commit(writer, { append: "uuuuu" });
      await run.commit(writer, { drop: 5 });
    };
    await makeOldestRows(run, writer, dropAll, 23);
    await run.read(reader, oldest);
  },

  async "rows that are not linked have no messages"(run) {
    const [crashing, writer, reader] = run.clients;
    const loseRace = async () => {
      await run.read(crashing);
      const sent = run.direct(crashing, /insert/, { requestMs: 3 * DAY, crashes: true });
      void run.commit(crashing, { append: "uuuuu" });
      await sent;
      await run.commitEach(writer, 2, { setsMetadata: true });
    };
    await makeOldestRows(run, writer, loseRace, 100);
    await run.wait(2 * DAY + HOUR);
    run.deleteExpired();
    await run.wait(DAY);
    await run.read(reader, oldest);
  },

  async "what is known of the oldest messages ends where they were dropped"(run) {
    const [client] = run.clients;
    const settings = { maxMessages: 301 };
    await run.commitEach(client, 331, { append: "u", settings });
    await run.commit(client, { drop: 250, settings });
    // Their numbers are assigned again, to messages of other kinds.
    await run.commitEach(client, 120, { append: "uoo", settings });
  },

  async "rows are found without texts only if none was dropped"(run) {
    const [writer, trimming] = run.clients;
    await run.commitEach(writer, 95, message);
    await run.commit(writer, { drop: 20 });
    // Their numbers are assigned again, to messages of other kinds.
    for (let row = 0; row < 250; row++) await run.commit(writer, { append: row % 3 === 0 ? "u" : "o" });
    // The first rows that it reads, to find the oldest messages, end with the dropped rows.
    await run.commitEach(trimming, 120, { append: "u", settings: { maxMessages: 320 } });
  },

  async "a row is no end if the row below was freed"(run) {
    const [writer, reader] = run.clients;
    await run.commitEach(writer, 3, message);
    await run.delete(writer);
    await run.wait(37 * DAY);
    run.deleteExpired(({ head }) => head?.closed === 1);
    await run.read(reader);
  },

  async "an end has its root, or the row below"(run) {
    const [crashing, writer, reader] = run.clients;
    await run.commitEach(writer, 3, few);
    await run.read(crashing);
    const sent = run.direct(crashing, /insert/, { requestMs: 6 * DAY, crashes: true });
    void run.commit(crashing, few);
    await sent;
    await run.commitEach(writer, 200, few);
    await run.wait(3 * DAY);
    run.deleteExpired();
    await run.delete(writer);
    await run.wait(40 * DAY);
    run.deleteExpired();
    await run.read(reader);
  },

  async "a row is no end if its root was freed"(run) {
    const [crashing, deleting, reader] = run.clients;
    await run.commitEach(deleting, 3, message);
    await run.read(crashing);
    const sent = run.direct(crashing, /insert/, { requestMs: 38 * DAY, crashes: true });
    void run.commit(crashing, message);
    await sent;
    await run.delete(deleting);
    await run.wait(37 * DAY);
    run.deleteExpired(({ head }) => head?.base === undefined);
    await run.wait(2 * DAY);
    await run.read(reader);
  },

  async "an end that is known is no end once it is freed"(run) {
    const [knowing, deleting] = run.clients;
    await run.commitEach(knowing, 3, message);
    await run.delete(deleting);
    await run.wait(37 * DAY);
    run.deleteExpired(({ head }) => head?.closed === 1);
    await run.commit(knowing, message);
  },

  async "nothing is built on a freed root"(run) {
    const [writer, deleting] = run.clients;
    await run.commitEach(writer, 3, message);
    await run.delete(deleting);
    await run.wait(37 * DAY);
    run.deleteExpired(({ head }) => head?.base === undefined);
    await run.commit(writer, message);
  },

  async "nothing is built on a root that has rows, of which none is an end"(run) {
    const [writer, deleting] = run.clients;
    for (let hours = 0; hours < 25; hours += 0.5) {
      await run.commit(writer, expiring(HOUR));
      await run.wait(HOUR / 2);
    }
    await run.wait(27 * HOUR);
    // It dies before it releases the closing row, which is deleted by its own expiry: that of the rows after a raise.
    const sent = run.direct(deleting, /amend/, { crashes: true });
    void run.delete(deleting);
    await sent;
    await run.wait(70 * HOUR);
    run.deleteExpired(({ head }) => head?.closed === 1);
    await run.commit(writer, message);
  },

  async "roots that go soon are left alone"(run) {
    const [writer, deleting, reader] = run.clients;
    await run.commit(writer, message);
    await run.delete(writer);
    const root = run.model.rows.get(1)?.row.expiresAt ?? 0;
    await run.wait(root - run.scheduler.now - HOUR);
    const sent = run.direct(deleting, /amend/, { requestMs: 3 * DAY });
    void run.delete(deleting);
    await sent;
    await run.wait(2 * HOUR);
    run.deleteExpired();
    // The number of its root was used before.
    await run.commit(writer, message);
    await run.wait(40 * DAY);
    run.deleteExpired();
    await run.read(reader);
  },

  async "a closing row that was late ends nothing"(run) {
    const [deleting, writer] = run.clients;
    await run.commitEach(writer, 3, few);
    const sent = run.direct(deleting, /insert/, { requestMs: 6 * DAY });
    const deletion = run.delete(deleting);
    await sent;
    await run.commitEach(writer, 200, few);
    await run.wait(3 * DAY);
    run.deleteExpired();
    await deletion;
  },

  async "a deletion that was made before the clock jumped is not made again"(run) {
    const [deleting, writer] = run.clients;
    await run.commitEach(writer, 3, few);
    const deletion = run.deletion();
    void run.direct(deleting, /insert/, { isReplyLost: true });
    await run.delete(deleting, deletion);
    await run.commitEach(writer, 3, few);
    deleting.setClock(-11 * HOUR);
    await run.delete(deleting, deletion);
  },

  async "commits share no row while an upload is open"(run) {
    const [client] = run.clients;
    await run.commit(client, message);
    const operation = run.operation({ append: "u", isLarge: true });
    void run.direct(client, /insert/, { isReplyLost: true });
    // The fragments of the first attempt stay until the upload ends; those of the second attempt are dropped.
    await run.commitOperation(client, operation);
    await run.commitOperation(client, operation);
    await run.commit(client, { drop: 1 });
    await run.commitEach(client, 60, message);
    await Promise.all(Array.from({ length: 33 }, () => run.commit(client, message)));
  },
};

/**
 * While a root is under way for 13 days, all older ones are deleted if they may be. A short thread begins and expires, with
 * higher row numbers than the late root's. A row that closes it arrives after the late root.
 */
async function hideLateRoot(
  run: DirectedRun,
  late: SimulatedClient,
  writer: SimulatedClient,
  closing: SimulatedClient,
): Promise<void> {
  const planned = run.direct(late, /insert .*\(root/, { requestMs: 13 * DAY });
  const beginning = run.commit(late, expiring(7 * DAY));
  await planned;
  await run.wait(4 * DAY);
  run.deleteExpired();
  await run.commit(writer, expiring(HOUR));
  await run.wait(DAY);
  const sent = run.direct(closing, /insert/, { requestMs: 9.5 * DAY });
  void run.commit(closing, expiring(HOUR));
  await sent;
  await run.wait(7 * DAY);
  run.deleteExpired();
  await beginning;
  await run.wait(DAY);
}

/** A writer must not continue at a row on which the row above was not inserted. */
async function expectDamageFound(commit: Promise<unknown>): Promise<void> {
  try {
    await commit;
  } catch (error) {
    if (error instanceof SimulationFailure && StoreError.is(error.cause, "CORRUPT")) return;
    throw error;
  }
  throw new SimulationFailure("damage", "a commit continued although a row was replaced");
}
