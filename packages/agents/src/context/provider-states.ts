import { StoreError } from "@scrollback/store-core";
import type { ContextProvider } from "./context-provider.ts";

const keepsState = (provider: ContextProvider) => provider.serialize !== undefined;

/**
 * Serializes the providers for a thread's state; undefined if no provider keeps anything.
 *
 * @throws StoreError `INVALID_ARGUMENT` for a state that is not JSON.
 */
export async function serializeProviders(
  providers: readonly ContextProvider[],
): Promise<unknown[] | undefined> {
  if (!providers.some(keepsState)) return undefined;
  const states: unknown[] = [];
  for (const [index, provider] of providers.entries()) {
    if (provider.serialize) states.push(asJson(await provider.serialize(), index));
  }
  return states;
}

/**
 * Passes the states in a thread's state back to the providers.
 *
 * @throws StoreError `INVALID_STATE` when the state was made with other providers, or a provider rejects it.
 */
export async function restoreProviders(
  providers: readonly ContextProvider[],
  states: readonly unknown[],
): Promise<void> {
  const keepers = providers.filter(keepsState);
  if (states.length !== keepers.length) {
    throw new StoreError(
      "INVALID_STATE",
      `state: contextStates has ${states.length} states, but ${keepers.length} of the agent's context providers keep one; use the providers that it was saved with`,
    );
  }
  for (const [index, provider] of keepers.entries()) {
    try {
      await provider.updateFromState?.(states[index]);
    } catch (cause) {
      const problem = `state: contextStates[${index}] was refused by its context provider; see cause`;
      throw new StoreError("INVALID_STATE", problem, { cause });
    }
  }
}

function asJson(state: unknown, index: number): unknown {
  let text: string | undefined;
  try {
    text = JSON.stringify(state ?? null);
  } catch {
    // A cycle or a bigint. Rejected below; the message does not quote the value.
  }
  if (text !== undefined) return JSON.parse(text);
  throw new StoreError("INVALID_ARGUMENT", `contextProviders[${index}].serialize must return plain JSON`);
}
