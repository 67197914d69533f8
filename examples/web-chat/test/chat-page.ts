import type { Locator, Page } from "playwright-core";
import { load } from "../../../test/browser.ts";

/** A user's actions on the page, by the names that screen readers announce. */
export class ChatPage {
  readonly page: Page;
  readonly chats: Locator;
  readonly messages: Locator;
  readonly field: Locator;

  constructor(page: Page) {
    this.page = page;
    this.chats = page.getByRole("navigation", { name: "Chats" });
    this.messages = page.getByRole("article");
    this.field = page.getByRole("textbox", { name: "Message", exact: true });
  }

  /** Sends a message; returns when the answer is complete, or at once without waiting. */
  async send(text: string, { wait = true } = {}): Promise<void> {
    await this.field.fill(text);
    await this.field.press("Enter");
    if (wait) await this.answered();
  }

  /** Waits until no answer is being generated. */
  async answered(): Promise<void> {
    await this.button("Stop").waitFor({ state: "detached" });
    await this.button("Send").waitFor();
  }

  button(name: string): Locator {
    return this.page.getByRole("button", { name, exact: true });
  }

  /** The text of each message, without its commands. */
  async texts(): Promise<string[]> {
    const all = await this.messages.locator(".bubble, .answer").allInnerTexts();
    return all.map((text) => text.trim());
  }

  /** The titles in the sidebar, from the top. */
  async titles(): Promise<string[]> {
    return this.chats.locator(".chat-title").allInnerTexts();
  }

  /** Chooses a command of a chat's menu in the sidebar. */
  async command(title: string, command: string): Promise<void> {
    const item = this.chats.getByRole("listitem").filter({ hasText: title });
    await item.hover();
    await item.getByRole("button", { name: `Commands for ${title}` }).click();
    await this.page.getByRole("menuitem", { name: command, exact: true }).click();
  }

  async open(title: string): Promise<void> {
    await this.chats.getByRole("link", { name: title }).click();
    await this.page.getByRole("heading", { level: 1, name: title }).waitFor();
  }

  /** Chooses a command under a message. */
  async act(message: Locator, command: string): Promise<void> {
    await message.hover();
    await message.getByRole("button", { name: command, exact: true }).click();
  }

  /** The stored messages of the chat on the screen. */
  async stored(): Promise<{ role: string; text: string; status: string }[]> {
    const url = this.page.url().replace("/chat/", "/api/chats/");
    const response = await this.page.request.get(`${url}?limit=1000`);
    const { messages, statuses } = await response.json();
    return messages.map(({ id, role, parts }: { id: string; role: string; parts: { text?: string }[] }) => ({
      role,
      text: parts.map(({ text = "" }) => text).join(""),
      status: statuses[id].status,
    }));
  }

  async reload(): Promise<void> {
    await load(this.page);
    await this.field.waitFor();
  }
}
