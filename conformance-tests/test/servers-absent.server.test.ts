import { expect, test, vi } from "vitest";
import * as engine from "../servers/engine.ts";
import { prepareImage } from "../servers/image.ts";
import { servers, startServer } from "../servers/index.ts";
import * as programs from "../servers/programs.ts";

// This machine without a way to install anything; everything else is unchanged.
vi.mock("../servers/programs.ts", { spy: true });
vi.mock("../servers/engine.ts", { spy: true });

const waysOut = [
  "start a Docker engine that can pull redis:7",
  "SCROLLBACK_REDIS_7_IMAGE=",
  "SCROLLBACK_REDIS_7_URL=redis://localhost:6379",
  "as root on Debian",
];

test("without a container engine or a way to install one, the error lists the options", async () => {
  vi.mocked(programs.canInstall).mockReturnValue(false);
  vi.mocked(engine.findEngine).mockResolvedValueOnce(undefined);
  const error: unknown = await startServer("redis-7").catch((reason: unknown) => reason);
  expect(String(error)).toContain('no server "redis-7" to test on: no Docker engine answers');
  for (const way of waysOut) expect(String(error)).toContain(way);
  expect(engine.startEngine).not.toHaveBeenCalled();
});

test("with an engine that cannot pull the image, the error gives its reason and lists the options", async () => {
  vi.mocked(programs.canInstall).mockReturnValue(false);
  const image = "localhost:1/nothing:here";
  // A suite from which no stand-in of this server was built.
  const refused = prepareImage({ ...servers["redis-7"], image, standIn: { suite: "trixie" } });
  await expect(refused).rejects.toThrow(
    /cannot pull localhost:1\/nothing:here: .*\. Do one of the following:\n/,
  );
});
