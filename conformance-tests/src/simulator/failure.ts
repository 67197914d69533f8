/** What a simulated run found wrong. */
export class SimulationFailure extends Error {
  override readonly name = "SimulationFailure";
  /** The promise or the rule that was broken, in few words: the same for the same kind of failure. */
  readonly rule: string;

  constructor(rule: string, message: string) {
    super(`${rule}: ${message}`);
    this.rule = rule;
  }
}
