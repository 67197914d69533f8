export { checkHistory, type HistoryProblem, type ProblemFound } from "./check-history.ts";
export { type MessageCountingOptions, MessageCountingReducer } from "./counting-reducer.ts";
export { reducingMiddleware } from "./middleware.ts";
export { type ReducedStoreOptions, withReducer } from "./reduced-store.ts";
export type { ChatReducer, ReduceOptions } from "./reducer.ts";
export {
  SUMMARY_INSTRUCTIONS,
  type SummarizingOptions,
  SummarizingReducer,
} from "./summarizing-reducer.ts";
export type { SummaryFunction, SummaryModel, SummaryRequest } from "./summary-model.ts";
export { type TokenBudgetOptions, TokenBudgetReducer } from "./token-budget-reducer.ts";
export { type TruncatingOptions, TruncatingReducer } from "./truncating-reducer.ts";
