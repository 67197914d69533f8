import type { ServerDefinition } from "./definition.ts";
import { findEngine, startEngine } from "./engine.ts";
import { findImage, hasImage, searchImage } from "./image.ts";
import { alone } from "./lock.ts";
import { canInstall, say } from "./programs.ts";
import { buildStandIn, standInTag } from "./stand-in.ts";

/**
 * Prepares and returns the image for a server, for the scripts of this repository only. Where packages can be installed, it
 * installs and starts a Docker engine if none replies, and builds a stand-in if the official image cannot be pulled. Throws
 * the errors of {@link findImage}.
 */
export async function prepareImage(definition: ServerDefinition): Promise<string> {
  if (canInstall()) {
    const engine =
      (await findEngine()) ?? (await alone(async () => (await findEngine()) ?? (await startEngine())));
    const found = await searchImage(engine, definition);
    if ("refusal" in found) {
      say(`${definition.image} cannot be pulled: ${found.refusal}`);
      await alone(async () => {
        if (!(await hasImage(engine, await standInTag(definition)))) await buildStandIn(definition);
      });
    }
  }
  return findImage(definition);
}
