import { redirect } from "next/navigation";
import { connection } from "next/server";

/** A new chat. It is stored with its first message. */
export default async function NewChat() {
  await connection();
  redirect(`/chat/${crypto.randomUUID()}`);
}
