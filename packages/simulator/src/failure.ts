/** The broken rule that a simulated run found. */
export class SimulationFailure extends Error {
  override readonly name = "SimulationFailure";
  /** The promise or rule that was broken, in few words, equal for failures of one kind. */
  readonly rule: string;

  constructor(rule: string, message: string) {
    super(`${rule}: ${message}`);
    this.rule = rule;
  }
}
