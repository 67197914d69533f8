"use client";

import { useChat } from "@ai-sdk/react";
import { chatClient, chatTransport } from "@scrollback/bridge-ai-sdk/client";
import type { UIMessage } from "ai";
import { useRouter } from "next/navigation";
import { useEffect, useState } from "react";

const client = chatClient();

export function Chat({ id, stored }: { id: string; stored: UIMessage[] }) {
  const router = useRouter();
  const [transport] = useState(() => chatTransport({ messages: () => stored }));
  const { messages, sendMessage, regenerate, stop, status, error } = useChat({
    id,
    messages: stored,
    transport,
    resume: true,
    onFinish: () => router.refresh(),
  });
  const isAnswering = status === "submitted" || status === "streaming";

  // Lists a new chat as soon as its first answer begins, and its title when the answer has ended.
  useEffect(() => {
    if (status === "streaming") router.refresh();
  }, [status, router]);

  async function stopAnswer() {
    // A closed connection stops nothing: the server would complete the answer.
    await client.stop(id);
    await stop();
  }

  function send(data: FormData) {
    const text = String(data.get("text")).trim();
    if (text !== "") void sendMessage({ text });
  }

  return (
    <main className="chat">
      <ol className="messages" aria-label="Messages">
        {messages.map((message) => (
          <li key={message.id} className={message.role}>
            {message.parts.map((part) => (part.type === "text" ? part.text : "")).join("")}
          </li>
        ))}
      </ol>
      {error && (
        <p role="alert">
          The answer failed.{" "}
          <button type="button" onClick={() => void regenerate()}>
            Try again
          </button>
        </p>
      )}
      <form action={send} className="composer">
        <input name="text" aria-label="Message" autoComplete="off" required />
        {isAnswering ? (
          <button type="button" onClick={() => void stopAnswer()}>
            Stop
          </button>
        ) : (
          <button type="submit">Send</button>
        )}
      </form>
    </main>
  );
}
