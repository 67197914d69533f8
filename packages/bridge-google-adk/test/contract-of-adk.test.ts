import {
  type Session as AdkSession,
  type BaseSessionService,
  type Event,
  InMemorySessionService,
} from "@google/adk";
import type { Session, SessionEvent } from "@scrollback/sessions";
import { expect, test } from "vitest";
import type { ContractService } from "../../sessions/test/contract/contract.ts";
import { sessionContract, trialOf } from "../../sessions/test/contract/session-contract.ts";

const PROBE = "what the state of app and user is";

/** Adapts ADK's in-memory service to the interface of the session contract. */
class AdkService implements ContractService {
  readonly #service: BaseSessionService = new InMemorySessionService();

  async createSession(request: Parameters<ContractService["createSession"]>[0]) {
    return own(await this.#service.createSession(request as never));
  }

  async getSession(request: Parameters<ContractService["getSession"]>[0]) {
    const session = await this.#service.getSession(request as never);
    return session && own(session);
  }

  async getOrCreateSession(request: Parameters<ContractService["getOrCreateSession"]>[0]) {
    return own(await this.#service.getOrCreateSession(request as never));
  }

  async listSessions({
    pageToken,
    limit = 20,
    order = "desc",
    ...request
  }: Parameters<ContractService["listSessions"]>[0]) {
    const page = Number(pageToken ?? 1);
    const answer = await this.#service.listSessions({ ...request, limit, page, order } as never);
    const sessions = answer.sessions.map(own);
    return page < answer.totalPages ? { sessions, nextPageToken: String(page + 1) } : { sessions };
  }

  async appendEvent({
    session,
    event,
  }: Parameters<ContractService["appendEvent"]>[0]): Promise<SessionEvent> {
    const appended = await this.#service.appendEvent({
      session: session as never,
      event: event as never,
    });
    return appended as Event as never;
  }

  async updateSession(): Promise<Session> {
    throw new Error("it has no updateSession");
  }

  async deleteSession(request: Parameters<ContractService["deleteSession"]>[0]) {
    await this.#service.deleteSession(request);
  }

  async deleteUser(): Promise<void> {
    throw new Error("it has no deleteUser");
  }

  async flush() {}

  async getAppState({ appName }: { appName: string }) {
    return await this.#stateOf(appName, PROBE, "app:");
  }

  async getUserState({ appName, userId }: { appName: string; userId: string }) {
    return await this.#stateOf(appName, userId, "user:");
  }

  /** The service can only read the state of a session. */
  async #stateOf(appName: string, userId: string, prefix: string) {
    const key = { appName, userId, sessionId: PROBE };
    const { state } = await this.#service.createSession(key);
    await this.#service.deleteSession(key);
    const entries = Object.entries(state).filter(([name]) => name.startsWith(prefix));
    return Object.fromEntries(entries.map(([name, value]) => [name.slice(prefix.length), value]));
  }
}

function own(session: AdkSession): Session {
  return Object.assign(session as never, { revision: "none" });
}

test("for information: differences between ADK's in-memory service and the contract of sessions", async () => {
  const differing: string[] = [];
  for (const { title, run } of sessionContract) {
    const service = new AdkService();
    const trial = trialOf({ connect: () => service, close: async () => undefined });
    const reason = await run(trial).then(
      () => undefined,
      (error: unknown) => String(error).split("\n")[0],
    );
    if (reason !== undefined) differing.push(`- ${title}\n    ${reason}`);
  }
  const kept = sessionContract.length - differing.length;
  console.log(
    `ADK's in-memory service keeps ${kept} of ${sessionContract.length} promises. It differs in:\n${differing.join("\n")}`,
  );
  // More than 5 passing tests show that the adapter works.
  expect(kept).toBeGreaterThan(5);
});
