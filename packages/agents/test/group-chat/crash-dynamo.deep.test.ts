import { dynamoForTests } from "../dynamo.ts";
import { describeCrashes } from "./crashes.ts";

describeCrashes("dynamodb", dynamoForTests());
