import type { Backend } from "./backend.ts";

/** Declares one test of a clause. The clause's name is put before the title. */
export type DeclareTest = (title: string, run: (backend: Backend) => Promise<void>) => void;

/** One promise of the protocol, as tests. */
export interface Clause {
  readonly title: string;
  /** Whether the tests run at once, where they mostly wait. They then may not count requests or break the network. */
  readonly concurrent?: boolean;
  /** How long a test may take, in milliseconds. Default a minute. */
  readonly timeoutMs?: number;
  declare(test: DeclareTest): void;
}
