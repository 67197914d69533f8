export { checkHistory } from "./check-history.ts";
export { MessageCountingReducer } from "./counting-reducer.ts";
export { reducingMiddleware } from "./middleware.ts";
export { withReducer } from "./reduced-store.ts";
export type { ChatReducer } from "./reducer.ts";
export { SUMMARY_INSTRUCTIONS, SummarizingReducer } from "./summarizing-reducer.ts";
export { TokenBudgetReducer } from "./token-budget-reducer.ts";
export { TruncatingReducer } from "./truncating-reducer.ts";
