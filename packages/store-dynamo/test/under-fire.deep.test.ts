import { runFaults } from "@scrollback/conformance";
import { startServer } from "@scrollback/conformance/servers";
import { afterAll } from "vitest";
import { openGateway, refusal } from "./gateway.ts";
import { connect, dynamoHarnesses } from "./harness.ts";

/**
 * Its data is in a file, and SIGTERM ends it: DynamoDB Local acknowledges a transaction before it is in the file. With SIGKILL, 4 of 100
 * writers lost their newest transaction by the AWS SDK alone, and with SIGTERM none did.
 */
const server = startServer("dynamodb", { args: ["-dbPath", "/tmp"] }).then((started) => ({
  ...started,
  kill: () => started.kill("SIGTERM"),
}));
afterAll(async () => (await server).stop());

runFaults({
  name: "DynamoDB",
  createHarness: dynamoHarnesses(server),
  server: () => server,
  faults: {
    /** DynamoDB Local never throttles, so a gateway returns the throttling errors. */
    async throttled({ backend, rounds, underLoad }) {
      await using gateway = await openGateway((await server).url);
      const table = new URL(String(backend.harness.childProcess?.data));
      table.searchParams.set("endpoint", gateway.url);
      const clients = Array.from({ length: 3 }, () => connect(table.href));
      const names = [
        "ProvisionedThroughputExceededException",
        "ThrottlingException",
        "RequestLimitExceeded",
        "InternalServerError",
      ];
      let throttled = 0;
      const figure = await underLoad(
        async () => {
          gateway.answer = () => {
            const name = names[throttled % names.length] ?? "";
            if (Math.random() < 0.5) return undefined;
            throttled += 1;
            return refusal(name, name, name === "InternalServerError" ? 500 : 400);
          };
          await new Promise((resolve) => setTimeout(resolve, rounds(3_000, 30_000)));
          gateway.answer = () => undefined;
        },
        { clients },
      );
      for (const client of clients) await client.close();
      return `${throttled} requests refused, ${figure}`;
    },
  },
});
