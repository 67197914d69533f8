import {
  AbstractChat,
  type ChatInit,
  type ChatState,
  type ChatStatus,
  DefaultChatTransport,
  type UIMessage,
} from "ai";

/** The state of `useChat`, without React. */
class PlainState implements ChatState<UIMessage> {
  status: ChatStatus = "ready";
  error: Error | undefined = undefined;
  messages: UIMessage[];

  constructor(messages: UIMessage[]) {
    this.messages = messages;
  }

  pushMessage = (message: UIMessage) => {
    this.messages = [...this.messages, this.snapshot(message)];
  };
  popMessage = () => {
    this.messages = this.messages.slice(0, -1);
  };
  replaceMessage = (index: number, message: UIMessage) => {
    this.messages = this.messages.with(index, this.snapshot(message));
  };
  snapshot = <T>(value: T): T => structuredClone(value);
}

/** A tab: the `Chat` of the AI SDK over HTTP, as `useChat` drives it. */
export class Tab extends AbstractChat<UIMessage> {
  constructor({ messages = [], ...init }: ChatInit<UIMessage> & { id: string }) {
    super({ ...init, state: new PlainState(messages) });
  }

  /** Resolves when no request is pending. Automatic requests begin shortly after the request that they follow. */
  async idle(): Promise<void> {
    let idleLooks = 0;
    while (idleLooks < 3) {
      idleLooks = this.status === "ready" || this.status === "error" ? idleLooks + 1 : 0;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** The messages as JSON, in which they are sent and stored. */
  get plain(): UIMessage[] {
    return JSON.parse(JSON.stringify(this.messages));
  }

  /** The text of the last message. */
  get lastText(): string {
    return textOf(this.lastMessage);
  }
}

export function textOf(message: UIMessage | undefined): string {
  return (message?.parts ?? []).flatMap((part) => (part.type === "text" ? part.text : [])).join("|");
}

/** A user's tab on the default transport. */
export function openTab(
  url: string,
  id: string,
  { owner = "ada", ...init }: Omit<ChatInit<UIMessage>, "id"> & { owner?: string } = {},
): Tab {
  const transport = new DefaultChatTransport<UIMessage>({
    api: `${url}/api/chat`,
    headers: { "x-user": owner },
  });
  return new Tab({ transport, ...init, id });
}
