import { useEffect, useRef, useState } from "react";
import { type ChatMessage, client, type StoredChat } from "../api.ts";
import { IconButton } from "../controls/IconButton.tsx";
import { DownIcon } from "../controls/icons.tsx";
import { Message } from "../message/Message.tsx";
import type { MessageActions } from "../message/MessagePart.tsx";
import { textOf } from "../message/text-of.ts";
import { useKeptPosition } from "../state/use-kept-position.ts";
import { useStickToEnd } from "../state/use-stick-to-end.ts";
import { Announcer } from "./Announcer.tsx";
import { Composer } from "./Composer.tsx";
import { EmptyConversation } from "./EmptyConversation.tsx";
import { Notice } from "./Notice.tsx";
import { useConversation } from "./use-conversation.ts";

interface Props {
  readonly chatId: string;
  readonly stored: StoredChat | undefined;
  readonly draft: string;
  /** Reloads the chat. A rejected message becomes the draft. */
  readonly onReload: (unsent?: ChatMessage) => Promise<void>;
  readonly onStarted: () => void;
  readonly onChanged: () => void;
  readonly onOpen: (chatId: string) => void;
  readonly onFailed: (text: string) => void;
}

export function Conversation({
  chatId,
  stored,
  draft,
  onReload,
  onStarted,
  onChanged,
  onOpen,
  onFailed,
}: Props) {
  const conversation = useConversation(chatId, stored, onChanged);
  const { messages, statuses, siblings, isAnswering, isLost, trouble, older } = conversation;
  const { scroller, content, isAtEnd, goToEnd } = useStickToEnd();
  const keepPosition = useKeptPosition(scroller, content);
  const [text, setText] = useState(draft);
  const [files, setFiles] = useState<readonly File[]>([]);
  const field = useRef<HTMLTextAreaElement>(null);

  const hasStarted = useRef(stored !== undefined);
  useEffect(() => {
    if (hasStarted.current || messages.length === 0) return;
    hasStarted.current = true;
    onStarted();
  }, [messages.length, onStarted]);

  const thenFocus =
    <Input extends unknown[]>(work: (...input: Input) => void) =>
    (...input: Input) => {
      work(...input);
      field.current?.focus();
    };
  const send = thenFocus((what: string) => {
    conversation.send(what, files);
    setText("");
    setFiles([]);
    goToEnd();
  });
  const branch = async (messageId: string) => {
    try {
      onOpen((await client.fork(chatId, { at: messageId })).id);
      onChanged();
    } catch {
      onFailed("The branch could not be made.");
    }
  };
  const actions: MessageActions = {
    edit: thenFocus(conversation.edit),
    regenerate: thenFocus(conversation.regenerate),
    approve: thenFocus(conversation.approve),
    answer: thenFocus(conversation.answer),
    branch: (messageId) => void branch(messageId),
    switchTo: (messageId) =>
      void conversation.switchTo(messageId).catch(() => onFailed("The other version could not be shown.")),
  };
  const loadOlder = async () => {
    keepPosition();
    await conversation.loadOlder().catch(() => onFailed("The earlier messages could not be loaded."));
  };

  const last = messages.at(-1);
  const earlier = siblings
    .find(({ behind, active }) => behind === last?.id && active === undefined)
    ?.ids.at(-1);
  const isRefused = trouble !== undefined && trouble.is !== "disconnected";
  const isUnanswered = last?.role === "user" && !isAnswering && trouble === undefined;
  return (
    <>
      <section ref={scroller} className="scroller" aria-label="Messages">
        <div ref={content} className="messages">
          {older !== undefined && (
            <button type="button" className="button small older" onClick={() => void loadOlder()}>
              Show earlier messages
            </button>
          )}
          {messages.length === 0 && <EmptyConversation onSuggest={send} />}
          {messages.map((message) => {
            const isLast = message === last;
            return (
              <Message
                key={message.id}
                message={message}
                state={statuses[message.id]}
                siblings={siblings.find(({ active }) => active === message.id)?.ids ?? []}
                isAnswering={isAnswering && isLast && message.role === "assistant"}
                isLost={isLost && isLast}
                isUnsent={isRefused && isLast && message.role === "user"}
                canChange={!isAnswering && trouble === undefined}
                actions={actions}
              />
            );
          })}
          {isAnswering && last?.role === "user" && (
            <p className="thinking">
              <span className="visually-hidden">Waiting for the answer</span>
              <i />
              <i />
              <i />
            </p>
          )}
          {isUnanswered && (
            <p className="outcome failed">
              No answer came.
              <button type="button" className="link-button" onClick={() => conversation.regenerate()}>
                Try again
              </button>
              {earlier !== undefined && (
                <button type="button" className="link-button" onClick={() => actions.switchTo(earlier)}>
                  Show the earlier answer
                </button>
              )}
            </p>
          )}
        </div>
      </section>
      <div className="dock">
        {!isAtEnd && (
          <IconButton label="Go to the end" className="to-end" onClick={goToEnd}>
            <DownIcon />
          </IconButton>
        )}
        {trouble && (
          <Notice
            trouble={trouble}
            onReload={() => void onReload(messages.findLast(({ role }) => role === "user"))}
          />
        )}
        <Composer
          field={field}
          text={text}
          files={files}
          isAnswering={isAnswering}
          onText={setText}
          onFiles={setFiles}
          onSend={send}
          onStop={thenFocus(
            () => void conversation.stop().catch(() => onFailed("The answer could not be stopped.")),
          )}
        />
      </div>
      <Announcer
        isAnswering={isAnswering}
        answer={last?.role === "assistant" ? textOf(last) : ""}
        status={last && statuses[last.id]?.status}
      />
    </>
  );
}
