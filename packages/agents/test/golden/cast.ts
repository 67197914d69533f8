import { ChatAgent, type ContextProvider } from "../../src/index.ts";
import { scripted } from "../models.ts";

/** A provider that counts its calls. */
export function counter(): ContextProvider & { asked: number } {
  return {
    asked: 0,
    async invoking() {
      this.asked += 1;
    },
    async serialize() {
      return { asked: this.asked };
    },
    async updateFromState(state) {
      this.asked = (state as { asked: number }).asked;
    },
  };
}

/** Two agents that each give one answer. */
export const pair = (first: string, second: string) => [
  new ChatAgent({ id: "a", name: "A", model: scripted(first) }),
  new ChatAgent({ id: "b", name: "B", model: scripted(second) }),
];
