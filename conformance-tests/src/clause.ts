import type { Backend } from "./backend.ts";

/** Declares one test of a clause. The clause's name precedes the title. */
type DeclareTest = (title: string, run: (backend: Backend) => Promise<void>, options?: TestOptions) => void;

interface TestOptions {
  /**
   * Whether the test runs beside all other such tests of the suite, because it mostly waits. Such a test must not count requests
   * or break the network. Default: that of the clause.
   */
  readonly concurrent?: boolean;
}

/** One promise of the protocol, as tests. */
export interface Clause {
  readonly title: string;
  /** The default of {@link TestOptions.concurrent}. Default: false. */
  readonly concurrent?: boolean;
  /** The time limit of a test in milliseconds. Default: one minute. */
  readonly timeoutMs?: number;
  declare(test: DeclareTest): void;
}
