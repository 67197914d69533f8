import type { StoreFactory } from "@scrollback/store-core";
import { declareStoryTests } from "./story-tests.ts";
import { runValidation } from "./validation.ts";

/**
 * Declares LangGraph's suite and the stories on a backend.
 *
 * @param makeStores is called once, with the first test; what it returns opens another client of the same stores each time.
 */
export function declareBackendTests(title: string, makeStores: () => Promise<() => StoreFactory>): void {
  let making: Promise<() => StoreFactory> | undefined;
  const make = async () => {
    const open = await makeStores();
    await using stores = open();
    await stores.setup();
    return open;
  };
  const openStores = async () => {
    making ??= make();
    return (await making)();
  };
  runValidation(title, openStores);
  declareStoryTests(title, openStores);
}
