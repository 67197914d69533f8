/** The page of the example: a list of chats, and one chat with `useChat`, which continues an answer after a reload. */
import { useChat } from "@ai-sdk/react";
import { type ChatClientError, chatClient, chatTransport } from "@scrollback/bridge-ai-sdk/client";
import type { UIMessage } from "ai";
import { useCallback, useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

// Yours: a cookie of your authentication, which needs no header.
const headers = { "x-user": "ada" };
const client = chatClient<UIMessage>({ headers });

function Chat({ id, loaded, onAnswer }: { id: string; loaded: UIMessage[]; onAnswer(): void }) {
  const { messages, sendMessage, status, stop, error } = useChat({
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
      {error && <p role="alert">{error.message}</p>}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          sendMessage({ text });
          setText("");
        }}
      >
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <button type="submit" disabled={status === "submitted" || status === "streaming"}>
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

/** The chat that is shown; without messages until they are loaded. */
interface Shown {
  readonly id: string;
  readonly messages?: UIMessage[];
}

const newChat = (): Shown => ({ id: crypto.randomUUID(), messages: [] });
const chatInUrl = (): Shown => (location.hash === "" ? newChat() : { id: location.hash.slice(1) });

function App() {
  const [{ id, messages }, setShown] = useState(chatInUrl);
  const [chats, setChats] = useState<{ id: string; title?: string }[]>([]);
  const [problem, setProblem] = useState("");
  const report = useCallback((error: Error) => setProblem(error.message), []);
  const list = useCallback(() => client.list().then((page) => setChats(page.chats), report), [report]);
  useEffect(() => {
    list();
    const onHashChange = () => setShown((shown) => (location.hash === `#${shown.id}` ? shown : chatInUrl()));
    addEventListener("hashchange", onHashChange);
    return () => removeEventListener("hashchange", onHashChange);
  }, [list]);
  useEffect(() => {
    location.hash = id;
    setProblem("");
    if (messages) return;
    const load = (loaded: UIMessage[]) =>
      setShown((shown) => (shown.id === id ? { id, messages: loaded } : shown));
    client.get(id).then(
      (chat) => load(chat.messages),
      // A chat without a message is not there yet.
      (error: ChatClientError) => (error.status === 404 ? load([]) : report(error)),
    );
  }, [id, messages, report]);
  const remove = async (other: string) => {
    await client.delete(other).catch(report);
    if (other === id) setShown(newChat());
    list();
  };
  return (
    <>
      <nav>
        <button type="button" onClick={() => setShown(newChat())}>
          New chat
        </button>
        {chats.map((chat) => (
          <div key={chat.id}>
            <button type="button" onClick={() => setShown({ id: chat.id })}>
              {chat.title ?? chat.id}
            </button>
            <button type="button" onClick={() => remove(chat.id)}>
              Delete
            </button>
          </div>
        ))}
      </nav>
      {problem && <p role="alert">{problem}</p>}
      {messages && <Chat key={id} id={id} loaded={messages} onAnswer={list} />}
    </>
  );
}

const root = document.getElementById("root");
if (root) createRoot(root).render(<App />);
