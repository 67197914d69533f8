import { useCallback, useEffect, useRef, useState } from "react";
import { ChatClientError, type ChatMessage, type ChatSummary, readChat, type StoredChat } from "../api.ts";
import type { ChatCommands } from "../sidebar/chat-commands.tsx";
import { ChatHeader } from "./ChatHeader.tsx";
import { Conversation } from "./Conversation.tsx";

interface Props {
  readonly chatId: string;
  /** Whether the chat does not exist yet: the first message creates it. */
  readonly isNew: boolean;
  /** The chat in the list, which is newer than the loaded chat. */
  readonly summary: ChatSummary | undefined;
  readonly commands: ChatCommands;
  readonly onShowChats: (() => void) | undefined;
  readonly onStarted: () => void;
  readonly onChanged: () => void;
  readonly onOpen: (chatId: string | undefined) => void;
  readonly onFailed: (text: string) => void;
}

type Loading =
  | { readonly is: "loading" }
  | {
      readonly is: "ready";
      readonly stored: StoredChat | undefined;
      readonly draft: string;
      readonly round: number;
    }
  | { readonly is: "missing" }
  | { readonly is: "failed"; readonly text: string };

/** Loads one chat, and shows its conversation, or the reason why it cannot be shown. */
export function ChatPane(props: Props) {
  const { chatId, isNew, summary } = props;
  const [loading, setLoading] = useState<Loading>(
    isNew ? { is: "ready", stored: undefined, draft: "", round: 0 } : { is: "loading" },
  );
  const round = useRef(0);

  const load = useCallback(
    async (unsent?: ChatMessage) => {
      try {
        const stored = await readChat(chatId);
        round.current += 1;
        setLoading({ is: "ready", stored, draft: draftOf(unsent, stored), round: round.current });
      } catch (error) {
        const isMissing = error instanceof ChatClientError && error.status === 404;
        if (isMissing && unsent === undefined) setLoading({ is: "missing" });
        else setLoading({ is: "failed", text: (error as Error).message });
      }
    },
    [chatId],
  );
  // Keeps the first value: after its first message the chat is no longer new, but still needs no loading.
  const wasNew = useRef(isNew);
  useEffect(() => {
    if (!wasNew.current) void load();
  }, [load]);

  const stored = loading.is === "ready" ? loading.stored : undefined;
  // A reloaded list may no longer contain the chat.
  const known = useRef(summary);
  known.current = summary ?? known.current;
  return (
    <>
      <ChatHeader chat={known.current ?? stored?.chat} {...props} />
      {loading.is === "loading" && <ConversationSkeleton />}
      {loading.is === "missing" && (
        <Blank
          title="This chat does not exist"
          text="It may have been deleted."
          action="Start a new chat"
          onAction={() => props.onOpen(undefined)}
        />
      )}
      {loading.is === "failed" && (
        <Blank
          title="The chat could not be loaded"
          text={loading.text}
          action="Try again"
          onAction={() => void load()}
        />
      )}
      {loading.is === "ready" && (
        <Conversation
          {...props}
          key={loading.round}
          stored={loading.stored}
          draft={loading.draft}
          onReload={load}
        />
      )}
    </>
  );
}

/** The text of a message that the server rejected, as a draft. */
function draftOf(unsent: ChatMessage | undefined, { messages }: StoredChat): string {
  if (unsent === undefined || messages.some(({ id }) => id === unsent.id)) return "";
  return unsent.parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

type BlankProps = Readonly<Record<"title" | "text" | "action", string> & { onAction: () => void }>;

function Blank({ title, text, action, onAction }: BlankProps) {
  return (
    <div className="blank" role="alert">
      <h2>{title}</h2>
      <p>{text}</p>
      <button type="button" className="button" onClick={onAction}>
        {action}
      </button>
    </div>
  );
}

function ConversationSkeleton() {
  return (
    <div className="conversation-skeleton" role="status">
      <span className="visually-hidden">Loading the chat</span>
      <span className="skeleton mine" />
      {["96%", "88%", "62%"].map((width) => (
        <span key={width} className="skeleton" style={{ width }} />
      ))}
    </div>
  );
}
