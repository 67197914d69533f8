/** The page of the example: a list of chats, and one chat with `useChat`, which continues an answer after a reload. */
import { useChat } from "@ai-sdk/react";
import { chatClient, chatTransport } from "@scrollback/bridge-ai-sdk/client";
import type { UIMessage } from "ai";
import { useCallback, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

// Yours: a cookie of your authentication, which needs no header.
const headers = { "x-user": "ada" };
const client = chatClient<UIMessage>({ headers });

function Chat({ id, loaded, onAnswer }: { id: string; loaded: UIMessage[]; onAnswer(): void }) {
  const { messages, sendMessage, status, stop } = useChat({
    id,
    messages: loaded,
    resume: true,
    transport: chatTransport({ headers, messages: () => loaded }),
    onFinish: onAnswer,
  });
  const [text, setText] = useState("");
  return (
    <main>
      {messages.map((message) => (
        <p key={message.id}>
          <b>{message.role}: </b>
          {message.parts.map((part) => (part.type === "text" ? part.text : ""))}
        </p>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          sendMessage({ text });
          setText("");
        }}
      >
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <button type="submit" disabled={status !== "ready"}>
          Send
        </button>
        <button
          type="button"
          onClick={async () => {
            // A closed connection stops nothing: the object would complete the answer.
            await client.stop(id);
            await stop();
          }}
          disabled={status !== "streaming"}
        >
          Stop
        </button>
      </form>
    </main>
  );
}

function App() {
  const [id, setId] = useState(() => location.hash.slice(1) || crypto.randomUUID());
  const [loaded, setLoaded] = useState<UIMessage[]>();
  const [chats, setChats] = useState<{ id: string; title?: string }[]>([]);
  const list = useCallback(() => client.list().then((page) => setChats(page.chats)), []);
  useEffect(() => {
    location.hash = id;
    list();
    // A chat without a message is not there yet.
    client.get(id).then(
      ({ messages }) => setLoaded(messages),
      () => setLoaded([]),
    );
  }, [id, list]);
  const open = (other: string) => {
    setLoaded(undefined);
    setId(other);
  };
  return (
    <>
      <nav>
        <button type="button" onClick={() => open(crypto.randomUUID())}>
          New chat
        </button>
        {chats.map((chat) => (
          <button type="button" key={chat.id} onClick={() => open(chat.id)}>
            {chat.title ?? chat.id}
          </button>
        ))}
      </nav>
      {loaded && <Chat key={id} id={id} loaded={loaded} onAnswer={list} />}
    </>
  );
}

const root = document.getElementById("root");
if (root) createRoot(root).render(<App />);
