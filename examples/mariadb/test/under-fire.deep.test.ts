import { runFaults } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { mariadbHarnesses } from "./harness.ts";

const server = startServer("mariadb");
afterAll(async () => (await server).stop());

runFaults({ name: "MariaDB", createHarness: mariadbHarnesses(server), server: () => server });
