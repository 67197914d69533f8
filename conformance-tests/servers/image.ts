import { type ContainerRuntimeClient, ImageName } from "testcontainers";
import { type ServerDefinition, variableOf } from "./definition.ts";
import { findEngine } from "./engine.ts";
import { standInTag } from "./stand-in.ts";

/**
 * Returns the image for a server: the image in its environment variable; otherwise the official image, pulled if it is missing;
 * otherwise a stand-in that `prepare.ts` has built. Installs, starts and builds nothing. Throws an error with instructions if no
 * Docker engine replies or no image is available.
 */
export async function findImage(definition: ServerDefinition): Promise<string> {
  const engine = await findEngine();
  if (engine === undefined) throw noServer(definition, "no Docker engine answers");
  const found = await findPresentImage(engine, definition);
  if (found !== undefined) return found;
  const refusal = await pull(engine, definition.image);
  if (refusal === undefined) return definition.image;
  throw noServer(definition, `the Docker engine cannot pull ${definition.image}: ${refusal}`);
}

/** The same without pulling: undefined if the engine has no image for the server. */
export async function findPresentImage(
  engine: ContainerRuntimeClient,
  definition: ServerDefinition,
): Promise<string | undefined> {
  const named = process.env[variableOf(definition.name, "IMAGE")];
  if (named !== undefined) return named;
  if (await hasImage(engine, definition.image)) return definition.image;
  const standIn = await standInTag(definition);
  if (await hasImage(engine, standIn)) {
    // Then Testcontainers' own cleaner cannot be pulled either; cleanup.ts replaces it.
    process.env.TESTCONTAINERS_RYUK_DISABLED = "true";
    return standIn;
  }
  return undefined;
}

export async function hasImage(engine: ContainerRuntimeClient, image: string): Promise<boolean> {
  return engine.image.exists(ImageName.fromString(image));
}

/** Pulls an image; returns the reason if that fails. */
export async function pull(engine: ContainerRuntimeClient, image: string): Promise<string | undefined> {
  try {
    await engine.image.pull(ImageName.fromString(image));
  } catch (error) {
    return String(error instanceof Error ? error.message : error).trim();
  }
  // Testcontainers does not report a pull that was interrupted.
  return (await hasImage(engine, image)) ? undefined : "the download broke off";
}

function noServer({ name, image, port, url }: ServerDefinition, reason: string): Error {
  return new Error(
    `no server "${name}" to test on: ${reason}. Do one of the following:
  - start a Docker engine that can pull ${image};
  - name an image that the engine has: ${variableOf(name, "IMAGE")}=…;
  - give a server that already runs: ${variableOf(name, "URL")}=${url({ host: "localhost", port })};
  - in Scrollback's repository, as root on Debian: run node conformance-tests/servers/prepare.ts ${name}, which installs and
    starts an engine and builds an image from packages.`,
  );
}
