import type { StoreFactory } from "@scrollback/store-core";
import { declareStoreTests } from "./store-tests.ts";
import { declareStoryTests } from "./story-tests.ts";
import { runValidation } from "./validation.ts";

/** Declares LangGraph's suite, the stories and the tests of the store on a backend. Each `open` returns another client of the same stores. */
export function declareBackendTests(title: string, open: () => Promise<StoreFactory>): void {
  let settingUp: Promise<void> | undefined;
  const setUp = async () => {
    await using stores = await open();
    await stores.setup();
  };
  const openStores = async () => {
    settingUp ??= setUp();
    await settingUp;
    return await open();
  };
  runValidation(title, openStores);
  declareStoryTests(title, openStores);
  declareStoreTests(title, openStores);
}
