import { Chat } from "@/components/chat";
import { scrollback } from "@/lib/chats";
import { currentUser } from "@/lib/user";

export default async function ChatPage({ params }: { params: Promise<{ id: string }> }) {
  const { id } = await params;
  const { chats } = await scrollback();
  const page = await chats.of(await currentUser()).read(id, { limit: 100 });
  const messages = page?.entries.map(({ message }) => message) ?? [];
  return <Chat key={id} id={id} stored={messages} />;
}
