import { runConformance } from "@scrollback/conformance";
import { sharedServer } from "@scrollback/conformance/servers";
import { dynamoHarnesses } from "./harness.ts";

runConformance({ name: "DynamoDB", createHarness: dynamoHarnesses(sharedServer("dynamodb")) });
