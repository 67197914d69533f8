import type { Driver } from "@scrollback/store-core/driver";

/** A driver that replaces some verbs of another driver. Verbs that `driver` lacks are absent from the wrapped driver too. */
export function wrapDriver(driver: Driver, instead: Partial<Driver>): Driver {
  const { setup, exportThread, importThread } = driver;
  return {
    capabilities: driver.capabilities,
    ...(driver.index && { index: driver.index }),
    commit: (request) => driver.commit(request),
    read: (request) => driver.read(request),
    delete: (request) => driver.delete(request),
    list: (request) => driver.list(request),
    close: () => driver.close(),
    classifyError: (error) => driver.classifyError(error),
    ...(setup && { setup: () => setup.call(driver) }),
    ...(exportThread && { exportThread: (threadId) => exportThread.call(driver, threadId) }),
    ...(importThread && {
      importThread: (threadId, snapshot) => importThread.call(driver, threadId, snapshot),
    }),
    ...instead,
  };
}
