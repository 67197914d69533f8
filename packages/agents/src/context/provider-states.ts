import { StoreError } from "@scrollback/store-core";
import type { ContextProvider } from "./context-provider.ts";

const keepsState = (provider: ContextProvider) => provider.serialize !== undefined;

/**
 * What the providers keep in a thread's state; undefined where none keeps anything.
 *
 * @throws StoreError `INVALID_ARGUMENT` for a state that is no JSON.
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
 * Gives the providers back what a thread's state kept for them.
 *
 * @throws StoreError `INVALID_STATE` where the state is of other providers, or one refuses it.
 */
export async function restoreProviders(
  providers: readonly ContextProvider[],
  states: readonly unknown[],
): Promise<void> {
  const keepers = providers.filter(keepsState);
  if (states.length !== keepers.length) {
    throw new StoreError(
      "INVALID_STATE",
      `state: contextStates has ${states.length} states, but ${keepers.length} of the agent's context providers keep one; restore it with the providers that it was made with`,
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
    // A cycle or a bigint: refused below, without a word of what it holds.
  }
  if (text !== undefined) return JSON.parse(text);
  throw new StoreError("INVALID_ARGUMENT", `contextProviders[${index}].serialize must return plain JSON`);
}
