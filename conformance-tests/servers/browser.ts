import { existsSync } from "node:fs";
import { alone } from "./lock.ts";
import { canInstall, installPrograms, say } from "./programs.ts";

const DEBIAN_PATH = "/usr/bin/chromium";

/** The name under which `prepare.ts` makes the browser ready. */
export const BROWSER = "chromium";

/**
 * The path of the Chromium that the tests drive: the one that `CHROMIUM` names, else Debian's. Throws an error that tells
 * the ways out where there is none.
 */
export function findBrowser(): string {
  const path = process.env.CHROMIUM ?? DEBIAN_PATH;
  if (existsSync(path)) return path;
  throw new Error(
    `no browser to test on: ${path} does not exist. Do one of the following:
  - install it on Debian: apt-get install --no-install-recommends chromium;
  - give the path of a Chromium or Chrome: CHROMIUM=…;
  - run node conformance-tests/servers/prepare.ts ${BROWSER} as root on Debian, which installs it.`,
  );
}

/** Installs Debian's Chromium where there is none and it can be. */
export async function prepareBrowser(): Promise<void> {
  if (process.env.CHROMIUM === undefined && canInstall())
    await alone(() => installPrograms({ chromium: "chromium" }));
  say(`${BROWSER} is ${findBrowser()}`);
}
