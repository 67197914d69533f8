import type { SessionService } from "../../src/session-service.ts";

/** The interface that the contract tests. `SessionService` of this package implements it. */
export type ContractService = Pick<
  SessionService,
  | "createSession"
  | "getSession"
  | "getOrCreateSession"
  | "listSessions"
  | "appendEvent"
  | "updateSession"
  | "deleteSession"
  | "deleteUser"
  | "flush"
  | "getUserState"
  | "getAppState"
>;

/** A service set up for one test. */
export interface SessionHarness {
  /**
   * Returns a service on the harness's storage, as in another process: it shares only the storage with earlier ones.
   * `staleWriter` as in `SessionServiceOptions`.
   */
  connect(options?: { staleWriter?: "reject" | "reload" }): ContractService;
  /** Deletes the stored data if needed. */
  close(): Promise<void>;
}

/** Options of {@link runSessionContract}. */
export interface SessionContractOptions {
  /** The name in the test titles, for example `"Redis"`. */
  readonly name: string;
  /** Creates a harness on unused storage. Called once per test; should be fast. */
  createHarness(): Promise<SessionHarness>;
}

/** The context of a contract test: a harness, and names that no other test uses. */
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
