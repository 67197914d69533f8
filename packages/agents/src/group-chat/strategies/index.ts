export { ModelSelection, type ModelSelectionOptions } from "./model-selection.ts";
export { ModelTermination, type ModelTerminationOptions } from "./model-termination.ts";
export {
  type Selection,
  type SelectionOptions,
  type SelectionStrategy,
  SequentialSelection,
} from "./selection.ts";
export {
  AggregateTermination,
  RegexTermination,
  type Termination,
  type TerminationScope,
  type TerminationStrategy,
} from "./termination.ts";
