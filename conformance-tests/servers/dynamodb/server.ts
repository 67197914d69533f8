import { join } from "node:path";
import { type Endpoint, endpointIn, PATIENCE_MS, type ServerDefinition } from "../definition.ts";
import { run } from "../programs.ts";

/**
 * Amazon's DynamoDB Local. Its data is in memory and ends with the process; with the arguments `-dbPath /tmp` it is in a
 * file, which survives a kill.
 */
export const dynamodb: ServerDefinition = {
  name: "dynamodb",
  image: "amazon/dynamodb-local",
  port: 8000,
  command: ({ args }) => [
    "-jar",
    "DynamoDBLocal.jar",
    "-sharedDb",
    "-disableTelemetry",
    ...(args.includes("-dbPath") ? [] : ["-inMemory"]),
    ...args,
  ],
  url: ({ host, port, tls }) => `${tls === undefined ? "http" : "https"}://${host}:${port}`,
  endpoint: (text) =>
    endpointIn(text, { protocol: /^https?:$/, port: 8000, isTls: ({ protocol }) => protocol === "https:" }),
  identify,
  standIn: {
    suite: "forky",
    programs: { java: "default-jre-headless", mvn: "maven" },
    async download(folder) {
      const to = [`-DoutputDirectory=${join(folder, "lib")}`, "-DincludeScope=runtime"];
      const how = ["--batch-mode", "--quiet", "--file", join(folder, "pom.xml")];
      await run("mvn", [...how, "dependency:copy-dependencies", ...to]);
    },
  },
};

/** No request returns the version: DynamoDB Local only writes it to its log when it starts. */
async function identify(endpoint: Endpoint, log?: () => Promise<string>) {
  const scope = "local/20120810/us-east-1/dynamodb/aws4_request";
  const response = await fetch(dynamodb.url(endpoint), {
    method: "POST",
    headers: {
      "x-amz-target": "DynamoDB_20120810.ListTables",
      authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=0`,
    },
    body: "{}",
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  await response.body?.cancel();
  if (!response.ok) throw new Error(`the server answered with status ${response.status}`);
  if (!response.headers.has("x-amzn-requestid")) throw new Error("the server is not DynamoDB");
  const isLocal = response.headers.get("server")?.startsWith("Jetty");
  const version = /^Version:\s*(\S+)/m.exec((await log?.()) ?? "")?.[1];
  return { product: isLocal ? "DynamoDB Local" : "DynamoDB", version: version ?? "of unknown version" };
}
