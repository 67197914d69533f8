export type {
  ContextProvider,
  ContextProviders,
  Invocation,
  InvocationContext,
  ProvidedContext,
} from "./context-provider.ts";
