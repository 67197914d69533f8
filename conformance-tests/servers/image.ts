import { type ContainerRuntimeClient, ImageName } from "testcontainers";
import type { ServerDefinition } from "./definition.ts";
import { findEngine, startEngine } from "./engine.ts";
import { alone } from "./lock.ts";
import { canInstall, say } from "./programs.ts";
import { buildStandIn, standInTag } from "./stand-in.ts";
import { variableOf } from "./variables.ts";

/**
 * Prepares and returns the image for a server: the image in its environment variable; otherwise the official image, pulled
 * if it is missing; otherwise a stand-in from packages, built if it is missing. Throws an error with instructions if none
 * is available.
 */
export async function prepareImage(definition: ServerDefinition): Promise<string> {
  const engine = (await findEngine()) ?? (await prepareEngine(definition));
  const named = process.env[variableOf(definition.name, "IMAGE")];
  if (named !== undefined) return named;
  if (await has(engine, definition.image)) return definition.image;
  const standIn = await standInTag(definition);
  if (!(await has(engine, standIn))) {
    const refusal = await pull(engine, definition.image);
    if (refusal === undefined) return definition.image;
    if (!canInstall())
      throw noServer(definition, `the Docker engine cannot pull ${definition.image}: ${refusal}`);
    say(`${definition.image} cannot be pulled: ${refusal}`);
    await alone(async () => {
      if (!(await has(engine, standIn))) await buildStandIn(definition);
    });
  }
  // Then Testcontainers' own cleaner cannot be pulled either; cleanup.ts replaces it.
  process.env.TESTCONTAINERS_RYUK_DISABLED = "true";
  return standIn;
}

async function prepareEngine(definition: ServerDefinition): Promise<ContainerRuntimeClient> {
  if (!canInstall()) throw noServer(definition, "no Docker engine answers");
  return alone(async () => (await findEngine()) ?? (await startEngine()));
}

async function has(engine: ContainerRuntimeClient, image: string): Promise<boolean> {
  return engine.image.exists(ImageName.fromString(image));
}

/** Pulls an image; returns the reason if that fails. */
async function pull(engine: ContainerRuntimeClient, image: string): Promise<string | undefined> {
  try {
    await engine.image.pull(ImageName.fromString(image));
  } catch (error) {
    return String(error instanceof Error ? error.message : error).trim();
  }
  // Testcontainers does not report a pull that was interrupted.
  return (await has(engine, image)) ? undefined : "the download broke off";
}

function noServer({ name, image, port, url }: ServerDefinition, reason: string): Error {
  return new Error(
    `no server "${name}" to test on: ${reason}. Do one of the following:
  - start a Docker engine that can pull ${image};
  - name an image that the engine has: ${variableOf(name, "IMAGE")}=…;
  - give a server that already runs: ${variableOf(name, "URL")}=${url({ host: "localhost", port })};
  - run this as root on Debian, where it installs an engine and builds an image from packages.`,
  );
}
