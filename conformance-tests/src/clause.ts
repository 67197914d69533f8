import type { Backend } from "./backend.ts";

/** Declares one test of a clause. The clause's name precedes the title. */
export type DeclareTest = (title: string, run: (backend: Backend) => Promise<void>) => void;

/** One promise of the protocol, as tests. */
export interface Clause {
  readonly title: string;
  /** Whether the tests run in parallel, because they mostly wait. Such tests must not count requests or break the network. */
  readonly concurrent?: boolean;
  /** The time limit of a test in milliseconds. Default: one minute. */
  readonly timeoutMs?: number;
  declare(test: DeclareTest): void;
}
