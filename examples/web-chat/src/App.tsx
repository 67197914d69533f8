import { useCallback, useState } from "react";
import { type ChatPatch, type ChatSummary, deleteAllChats } from "./api.ts";
import { type Confirmation, ConfirmDialog } from "./controls/ConfirmDialog.tsx";
import { Toast, type ToastMessage } from "./controls/Toast.tsx";
import { ChatPane } from "./conversation/ChatPane.tsx";
import { ChatList } from "./sidebar/ChatList.tsx";
import { type ChatCommands, titleOf } from "./sidebar/chat-commands.tsx";
import { Sidebar } from "./sidebar/Sidebar.tsx";
import { useChatList } from "./state/use-chat-list.ts";
import { useDrawer } from "./state/use-drawer.ts";
import { useRoute } from "./state/use-route.ts";

const newId = () => crypto.randomUUID();

export function App() {
  const { chatId, go } = useRoute();
  // The id of the next new chat, which its first message creates.
  const [draftId, setDraftId] = useState(newId);
  const [isArchive, setIsArchive] = useState(false);
  const [confirmation, setConfirmation] = useState<Confirmation>();
  const [toast, setToast] = useState<ToastMessage>();
  // The chat that was changed last. It may be missing in the list: in the archive, or on a page that is not loaded.
  const [changed, setChanged] = useState<ChatSummary>();
  const list = useChatList(isArchive);
  const drawer = useDrawer();
  const closeToast = useCallback(() => setToast(undefined), []);

  const open = (next: string | undefined) => {
    if (next === undefined) setDraftId(newId());
    go(next);
    drawer.close();
  };

  const attempt = (work: Promise<void>, failure: string, done?: ToastMessage) =>
    work.then(
      () => done && setToast(done),
      () => setToast({ text: failure }),
    );

  const update = ({ id }: ChatSummary, patch: ChatPatch) => list.update(id, patch).then(setChanged);

  const setArchived = (chat: ChatSummary, archived: boolean) =>
    void attempt(update(chat, { archived }), "The chat could not be moved.", {
      text: archived ? `“${titleOf(chat)}” is in the archive.` : `“${titleOf(chat)}” is back in the list.`,
      action: { label: "Undo", run: () => setArchived(chat, !archived) },
    });

  const commands: ChatCommands = {
    rename: (chat, title) => void attempt(update(chat, { title }), "The title could not be saved."),
    setPinned: (chat, pinned) => void attempt(update(chat, { pinned }), "The pin could not be saved."),
    setArchived,
    remove: (chat) =>
      setConfirmation({
        title: "Delete this chat?",
        text: `“${titleOf(chat)}” and its ${chat.messageCount} messages are removed for good. Nothing of them stays in the database.`,
        action: "Delete",
        confirm: () => {
          // Closed first, because an open chat is read again when its answer ends.
          if (chat.id === chatId) open(undefined);
          void attempt(list.remove(chat.id), "The chat could not be deleted.", {
            text: `“${titleOf(chat)}” is deleted.`,
          });
        },
      }),
  };

  const confirmDeleteAll = () =>
    setConfirmation({
      title: "Delete all chats?",
      text: "All your chats, the archived ones too, are removed for good.",
      action: "Delete all",
      confirm: () => {
        open(undefined);
        void attempt(deleteAllChats().then(list.refresh), "The chats could not be deleted.", {
          text: "All chats are deleted.",
        });
      },
    });

  const shownId = chatId ?? draftId;
  const summary = [...list.pinned, ...list.chats, ...(changed ? [changed] : [])].find(
    ({ id }) => id === shownId,
  );
  return (
    <div className="app">
      <a className="skip-link" href="#chat">
        Skip to the chat
      </a>
      {drawer.isOpen && <div className="backdrop" onClick={drawer.close} aria-hidden="true" />}
      <nav ref={drawer.panel} className="sidebar" aria-label="Chats" inert={drawer.isHidden}>
        <Sidebar
          isArchive={isArchive}
          onArchive={setIsArchive}
          onNew={() => open(undefined)}
          onDeleteAll={confirmDeleteAll}
          onClose={drawer.isDrawer ? drawer.close : undefined}
        >
          <ChatList list={list} isArchive={isArchive} currentId={chatId} commands={commands} onOpen={open} />
        </Sidebar>
      </nav>
      <main id="chat" className="main" tabIndex={-1} inert={drawer.isOpen}>
        <ChatPane
          key={shownId}
          chatId={shownId}
          isNew={chatId === undefined}
          summary={summary}
          commands={commands}
          onShowChats={drawer.isDrawer ? drawer.open : undefined}
          onStarted={() => go(shownId, { replace: true })}
          onChanged={list.refresh}
          onOpen={open}
          onFailed={(text) => setToast({ text })}
        />
      </main>
      {confirmation && (
        <ConfirmDialog confirmation={confirmation} onClose={() => setConfirmation(undefined)} />
      )}
      <Toast message={toast} onClose={closeToast} />
    </div>
  );
}
