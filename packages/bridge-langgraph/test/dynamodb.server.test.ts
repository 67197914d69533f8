import { createDynamoStores } from "@scrollback/store-dynamo";
import { declareServerTests } from "./backends.ts";

// DynamoDB Local takes any credentials; they come to the client as a user's would, through the standard chain.
process.env.AWS_ACCESS_KEY_ID ??= "suite";
process.env.AWS_SECRET_ACCESS_KEY ??= "suite";

declareServerTests("DynamoDB", "dynamodb", (endpoint, name) => {
  const place = new URLSearchParams({ region: "eu-central-1", endpoint });
  return createDynamoStores({ url: `dynamodb://${name}?${place}` });
});
