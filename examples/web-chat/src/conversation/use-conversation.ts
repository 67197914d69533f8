import { useChat } from "@ai-sdk/react";
import { chatTransport } from "@scrollback/bridge-ai-sdk/client";
import {
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
} from "ai";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { ChatClientError, type ChatMessage, client, readChat, type StoredChat } from "../api.ts";

/** The interval for reading a chat while another server generates its answer. */
const FOLLOW_MS = 2_000;
/** A failed answer ends on this page shortly before it is saved. The page reads the chat again after these times. */
const SAVED_MS = [0, 200, 400, 800, 1_600];
/** The server generates the title of a new chat while it generates the first answer. */
const TITLE_MS = 1_500;

/** The reason why the user cannot continue the conversation. */
export type Trouble =
  /** The chat was changed elsewhere, or the server is generating another answer. */
  | { readonly is: "stale" }
  | { readonly is: "disconnected" }
  | { readonly is: "refused"; readonly text: string };

/** A conversation: the SDK's chat, and the stored status of its messages. */
export function useConversation(chatId: string, stored: StoredChat | undefined, changed: () => void) {
  const [statuses, setStatuses] = useState(stored?.statuses ?? {});
  const [older, setOlder] = useState(stored?.older);
  const [run, setRun] = useState(stored?.chat.run);
  const [siblings, setSiblings] = useState(stored?.chat.siblings ?? []);
  const [trouble, setTrouble] = useState<Trouble>();
  const loaded = useRef(stored?.messages ?? []);
  const transport = useMemo(() => chatTransport<ChatMessage>({ messages: () => loaded.current }), []);
  // A finished step is sent again only if the user has just made a decision in it.
  const hasDecided = useRef(false);

  const chat = useChat<ChatMessage>({
    id: chatId,
    messages: stored?.messages ?? [],
    transport,
    resume: stored?.chat.run?.state === "running",
    throttle: 40,
    sendAutomaticallyWhen: (options) => {
      const isComplete =
        lastAssistantMessageIsCompleteWithToolCalls(options) ||
        lastAssistantMessageIsCompleteWithApprovalResponses(options);
      if (!hasDecided.current || !isComplete) return false;
      hasDecided.current = false;
      return true;
    },
    onError: (error) => setTrouble(troubleOf(error)),
  });
  const { setMessages, status } = chat;

  const adopt = useCallback((now: StoredChat) => {
    setStatuses((before) => ({ ...before, ...now.statuses }));
    setRun(now.chat.run);
    setSiblings(now.chat.siblings ?? []);
  }, []);

  /** Reads and shows the stored messages. */
  const refresh = useCallback(async () => {
    const now = await readChat(chatId).catch(() => undefined);
    if (now === undefined) return;
    adopt(now);
    loaded.current = now.messages;
    setMessages((before) => merge(before, now.messages));
  }, [chatId, adopt, setMessages]);

  const wasBusy = useRef(false);
  const isBusy = status === "submitted" || status === "streaming";
  useEffect(() => {
    if (status === "streaming") changed();
    if (isBusy) {
      wasBusy.current = true;
      return;
    }
    if (!wasBusy.current) return;
    wasBusy.current = false;
    const going = new AbortController();
    const readSaved = async () => {
      for (const ms of SAVED_MS) {
        await new Promise((resolve) => setTimeout(resolve, ms));
        const now = going.signal.aborted ? undefined : await readChat(chatId).catch(() => undefined);
        if (now === undefined || going.signal.aborted) return;
        if (now.chat.run?.state === "running") continue;
        adopt(now);
        return;
      }
    };
    void readSaved().then(changed);
    const timer = setTimeout(changed, TITLE_MS);
    return () => {
      going.abort();
      clearTimeout(timer);
    };
  }, [chatId, status, isBusy, adopt, changed]);

  const isElsewhere = run?.state === "running" && status === "ready";
  useEffect(() => {
    if (!isElsewhere) return;
    const timer = setInterval(() => void refresh().then(changed), FOLLOW_MS);
    return () => clearInterval(timer);
  }, [isElsewhere, refresh, changed]);

  const begin = (work: void | PromiseLike<void>) => {
    setTrouble(undefined);
    void work;
  };

  return {
    messages: chat.messages.filter(hasContent),
    statuses,
    /** The places of the chat that have several messages, of which one is shown. */
    siblings,
    /** Whether an answer is being generated, for this page or another one. */
    isAnswering: isBusy || isElsewhere,
    /** Whether the process that generated the last answer has ended. */
    isLost: run?.state === "lost" && !isBusy,
    trouble,
    older,
    send: (text: string, files: readonly File[] = []) =>
      begin(
        dataUrls(files).then(
          (parts) => chat.sendMessage({ parts: [...parts, ...(text === "" ? [] : [textPart(text)])] }),
          () => setTrouble({ is: "refused", text: "A file could not be read." }),
        ),
      ),
    /** The files of the message stay. */
    edit(messageId: string, text: string) {
      const edited = chat.messages.find(({ id }) => id === messageId);
      const files = edited?.parts.filter((part) => part.type === "file") ?? [];
      begin(chat.sendMessage({ parts: [...files, textPart(text)], messageId }));
    },
    regenerate: (messageId?: string) => begin(chat.regenerate(messageId === undefined ? {} : { messageId })),
    async switchTo(messageId: string) {
      await client.switchTo(chatId, messageId);
      const now = await readChat(chatId);
      adopt(now);
      loaded.current = now.messages;
      setOlder(now.older);
      setMessages(now.messages);
      changed();
    },
    async stop() {
      await client.stop(chatId);
      await chat.stop();
      if (isElsewhere) await refresh();
    },
    approve(id: string, approved: boolean) {
      hasDecided.current = true;
      begin(chat.addToolApprovalResponse({ id, approved }));
    },
    answer(toolCallId: string, answer: string) {
      hasDecided.current = true;
      begin(chat.addToolOutput({ tool: "askUser", toolCallId, output: { answer } }));
    },
    async loadOlder() {
      const page = await readChat(chatId, older);
      setStatuses((before) => ({ ...page.statuses, ...before }));
      setOlder(page.older);
      setMessages((before) => [...page.messages, ...before]);
    },
  };
}

const textPart = (text: string) => ({ type: "text" as const, text });

/** The server stores a file apart from its message, and later gives its URL in the place of the data. */
async function dataUrls(files: readonly File[]) {
  return await Promise.all(
    files.map(async (file) => {
      const reader = new FileReader();
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      reader.onload = () => resolve(String(reader.result));
      reader.onerror = () => reject(reader.error);
      reader.readAsDataURL(file);
      return { type: "file" as const, mediaType: file.type, filename: file.name, url: await promise };
    }),
  );
}

/** Keeps the messages before the first message of `now`, and replaces the others by `now`. */
function merge(before: readonly ChatMessage[], now: ChatMessage[]): ChatMessage[] {
  const at = before.findIndex(({ id }) => id === now[0]?.id);
  return at === -1 ? now : [...before.slice(0, at), ...now];
}

/** A model that fails at once leaves an empty answer in the SDK's chat, but not in the store. */
const hasContent = ({ role, parts }: ChatMessage) =>
  role === "user" ||
  parts.some((part) => part.type !== "step-start" && (part.type !== "text" || part.text !== ""));

function troubleOf(error: Error): Trouble | undefined {
  const refusal = ChatClientError.from(error);
  // The model failed: the stored answer contains the failure.
  if (refusal === undefined) return undefined;
  if (refusal.isStale) return { is: "stale" };
  if (refusal.status === 0) return { is: "disconnected" };
  return { is: "refused", text: reasonOf(refusal) };
}

function reasonOf({ status, message }: ChatClientError): string {
  if (status === 413) return "The message, or a file of it, is too large.";
  if (status === 503) return "The database does not answer at the moment.";
  return message;
}
