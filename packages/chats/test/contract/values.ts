import type { ChatMessage, StoreFactory } from "@scrollback/store-core";
import { expect } from "vitest";
import type { ChatEntry } from "../../src/chat.ts";
import type { OwnedChats } from "../../src/list/owned-chats.ts";
import type { ContractMessage } from "./contract.ts";

/** A message whose id is its text. */
export function message(id: string, role: ChatMessage["role"] = "user", content = id): ContractMessage {
  return { id, role, content };
}

/** A text that is a file. */
export function fileOf(content: string): string {
  return `data:text/plain;base64,${Buffer.from(content.padEnd(9, ".")).toString("base64")}`;
}

/** Messages of a user and an assistant in turn. */
export function dialogue(...ids: string[]): ContractMessage[] {
  return ids.map((id, index) => message(id, index % 2 === 0 ? "user" : "assistant"));
}

export function textsOf(entries: readonly ChatEntry<ContractMessage>[] | undefined): string[] {
  return (entries ?? []).map((entry) => entry.message.content);
}

/** The texts of a chat's messages. */
export async function textsIn(mine: OwnedChats<ContractMessage>, chatId: string): Promise<string[]> {
  return textsOf((await mine.read(chatId))?.entries);
}

export async function listedIds(mine: OwnedChats<ContractMessage>): Promise<string[]> {
  return (await mine.list({ limit: 1_000 })).chats.map(({ id }) => id);
}

/** Matches a StoreError of any copy of store-core. */
export const storeError = (code: string, text: RegExp = /./) => ({
  name: "StoreError",
  code,
  message: expect.stringMatching(text),
});

/** All readable content of the stores as one text. */
export async function storedText(stores: StoreFactory): Promise<string> {
  const texts: string[] = [];
  for await (const { threadId } of stores.iterateThreads()) {
    const { entries, metadata } = await stores.open(threadId).read();
    texts.push(JSON.stringify([threadId, entries, metadata]));
  }
  for (const prefix of ["chats:", "parts:"])
    for (const name of (await stores.listIndexes({ prefix, limit: 1_000 })).names)
      texts.push(JSON.stringify([name, await stores.index(name).list()]));
  return texts.join("\n");
}
