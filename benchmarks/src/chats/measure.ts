import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createSqliteStores } from "@scrollback/store-sqlite";
import type { Progress } from "../calls.ts";
import { type ChatFigures, type ChatRow, watchMachine } from "../figures.ts";
import type { ChatEffort } from "../load.ts";
import { versionOf } from "../versions.ts";
import { measureDeltas } from "./deltas.ts";
import { fileRecipe } from "./file-recipe.ts";
import { mastraChats } from "./mastra.ts";
import { type ChatContestants, measureOwner } from "./operations.ts";
import { scrollbackChats } from "./scrollback.ts";
import { tables } from "./tables.ts";
import { measureTabs } from "./tabs.ts";

const FOLDER = fileURLToPath(new URL("../../.results/", import.meta.url));

/** Measures the cost of chats on SQLite, compared with a hand-written table, Mastra's memory, and the recipe of the AI SDK. */
export async function measureChats(effort: ChatEffort, progress: Progress): Promise<ChatFigures> {
  const machineUntilNow = watchMachine();
  mkdirSync(FOLDER, { recursive: true });
  const folder = mkdtempSync(join(FOLDER, "chats-"));
  const sqlite = (name: string) =>
    createSqliteStores({ url: `sqlite:${join(folder, name)}`, synchronous: "normal" });
  const contestants: ChatContestants = {
    raw: tables(join(folder, "tables.db")),
    Scrollback: scrollbackChats(sqlite("chats.db")),
    Mastra: await mastraChats(join(folder, "mastra.db")),
  };
  const files = fileRecipe(join(folder, "files"));
  const streams = sqlite("streams.db");
  try {
    const rows: ChatRow[] = [];
    for (const chats of effort.chats)
      rows.push(...(await measureOwner(contestants, chats, effort.calls, progress)));
    progress.report("measuring deltas");
    const deltas = await measureDeltas(streams, effort.calls, progress.signal);
    progress.report("measuring tabs");
    const { raw, Scrollback, Mastra } = contestants;
    const tabs = await measureTabs(
      [
        ["AI SDK's file recipe", files],
        ["tables", raw],
        ["Mastra", Mastra],
        ["Scrollback", Scrollback],
      ],
      effort.rounds,
      progress.signal,
    );
    const versions = [
      `SQLite ${process.versions.sqlite} (node:sqlite), WAL, synchronous NORMAL`,
      `Mastra: @mastra/memory ${versionOf("@mastra/memory")}, @mastra/libsql ${versionOf("@mastra/libsql")}`,
      `AI SDK: ai ${versionOf("ai")}`,
    ];
    return { machine: machineUntilNow(), versions, rows, deltas, tabs };
  } finally {
    for (const contestant of Object.values(contestants)) await contestant.close();
    await streams.close();
    rmSync(folder, { recursive: true, force: true });
  }
}
