import type { SessionService } from "../session-service.ts";

/** What the contract asks of a session service. `SessionService` of this package is one. */
export type ContractService = Pick<
  SessionService,
  | "createSession"
  | "getSession"
  | "getOrCreateSession"
  | "listSessions"
  | "appendEvent"
  | "updateSession"
  | "deleteSession"
  | "getUserState"
  | "getAppState"
>;

/** A service set up for one test. */
export interface SessionHarness {
  /**
   * A service on the harness's storage, as another process would have it: it shares nothing with those given before but
   * what is stored. `staleWriter` as in `SessionServiceOptions`.
   */
  connect(options?: { staleWriter?: "reject" | "reload" }): ContractService;
  /** Drops what was stored, as far as that is needed. */
  close(): Promise<void>;
}

/** What {@link runSessionContract} takes. */
export interface SessionContractOptions {
  /** What the tests are named after, e.g. `"Redis"`. */
  readonly name: string;
  /** Makes a harness on storage that nothing else uses. Called once for each test; should be quick. */
  createHarness(): Promise<SessionHarness>;
}

/** What a test of the contract gets: a harness, and names that no other test has. */
export interface Trial {
  readonly sessions: ContractService;
  readonly appName: string;
  readonly userId: string;
  connect(options?: { staleWriter?: "reject" | "reload" }): ContractService;
}

/** One promise as a test. */
export interface ContractTest {
  readonly title: string;
  run(trial: Trial): Promise<void>;
}
