import type { ChatMessage } from "@llamaindex/core/llms";
import { ChatMessageAdapter, Memory } from "@llamaindex/core/memory";
import { envelope, valueOf as valueIn } from "@scrollback/collections";
import type { MessageStore } from "@scrollback/store-core";

/** A memory that begins with the messages of a thread. Each added message is one commit. */
export class StoredMemory extends Memory {
  readonly #store: MessageStore;

  private constructor(store: MessageStore, messages: readonly ChatMessage[]) {
    const { toMemory } = new ChatMessageAdapter();
    super(messages.map(toMemory));
    this.#store = store;
  }

  static async open(store: MessageStore): Promise<StoredMemory> {
    const messages = await store.listMessages();
    return new StoredMemory(
      store,
      messages.map((message) => valueIn<ChatMessage>(message)),
    );
  }

  override async add(message: ChatMessage): Promise<void> {
    await this.#store.addMessages([envelope(message.role === "user" ? "user" : "assistant", message)]);
    await super.add(message);
  }

  override async clear(): Promise<void> {
    await this.#store.clear();
    await super.clear();
  }
}
