import { type ServerDefinition, variableOf } from "./definition.ts";
import { enginePrograms, findEngine, registryRefusal, startEngine } from "./engine.ts";
import { findImage, findPresentImage, pull } from "./image.ts";
import { canInstall, hasProgram, installPrograms, type Packages, say } from "./programs.ts";
import { basePrograms, buildStandIn } from "./stand-in.ts";

/** By server's name, why its official image cannot be pulled. A stand-in is built for each of them. */
export type Plan = ReadonlyMap<string, string>;

/**
 * Prepares and returns the image for a server, for the scripts of this repository only. Where packages can be installed, it
 * installs and starts a Docker engine if none replies, and builds a stand-in if the official image cannot be pulled. Several can be
 * prepared side by side with one plan for all of them. Throws the errors of {@link findImage}. Takes no lock.
 */
export async function prepareImage(
  definition: ServerDefinition,
  plan: Promise<Plan> = planImages([definition]),
): Promise<string> {
  const refusal = (await plan).get(definition.name);
  if (refusal !== undefined) {
    say(`${definition.image} cannot be pulled: ${refusal}`);
    await buildStandIn(definition);
  } else if (canInstall()) {
    await startEngine();
  }
  return findImage(definition);
}

/**
 * Pulls the missing images that can be pulled, and begins to install all that the others need, and `others`, at once. A step that
 * needs a program installs it too if it is still missing, so what cannot be installed fails alone.
 */
export async function planImages(
  definitions: readonly ServerDefinition[],
  others: Packages = {},
): Promise<Plan> {
  if (!canInstall()) return new Map();
  // Where no engine is installed there is no image either, so nothing has to wait for one.
  const engine = (await findEngine()) ?? (hasProgram("dockerd") ? await startEngine() : undefined);
  const refusals = new Map<string, string>();
  await Promise.all(
    definitions.map(async (definition) => {
      if (process.env[variableOf(definition.name, "IMAGE")] !== undefined) return;
      if (engine !== undefined && (await findPresentImage(engine, definition)) !== undefined) return;
      const refusal = await (engine === undefined ? registryRefusal() : pull(engine, definition.image));
      if (refusal !== undefined) refusals.set(definition.name, refusal);
    }),
  );
  const built = definitions.filter(({ name }) => refusals.has(name));
  const programs = [
    engine === undefined ? enginePrograms : {},
    built.length === 0 ? {} : basePrograms,
    ...built.map(({ standIn }) => standIn.programs ?? {}),
  ];
  installPrograms(Object.assign({}, others, ...programs)).catch(() => undefined);
  return refusals;
}
