import { scrollback } from "@/lib/chats";
import { currentUser } from "@/lib/user";

async function answer(request: Request): Promise<Response> {
  const { handler } = await scrollback();
  return handler.fetch(request, { owner: await currentUser() });
}

export { answer as DELETE, answer as GET, answer as PATCH, answer as POST };
