import { existsSync } from "node:fs";
import type { Packages } from "./programs.ts";

const DEBIAN_PATH = "/usr/bin/chromium";

/** The name of the browser for `prepare.ts`. */
export const BROWSER = "chromium";

/** What to install for {@link findBrowser}. */
export function browserPrograms(): Packages {
  return process.env.CHROMIUM === undefined ? { chromium: "chromium" } : {};
}

/**
 * The path of the Chromium that the tests use: the value of `CHROMIUM`, otherwise Debian's. Throws an error with
 * instructions if there is none.
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
