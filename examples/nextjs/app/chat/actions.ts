"use server";

import { revalidatePath } from "next/cache";
import { scrollback } from "@/lib/chats";
import { currentUser } from "@/lib/user";

export async function renameChat(id: string, title: string): Promise<void> {
  const { chats } = await scrollback();
  await chats.of(await currentUser()).update(id, { title });
  revalidatePath("/chat", "layout");
}

export async function deleteChat(id: string): Promise<void> {
  const { chats } = await scrollback();
  await chats.of(await currentUser()).delete(id);
  revalidatePath("/chat", "layout");
}
