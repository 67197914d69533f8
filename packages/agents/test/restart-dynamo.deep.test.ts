import { dynamoForTests } from "./dynamo.ts";
import { describeRestarts } from "./restarts.ts";

describeRestarts("dynamodb", dynamoForTests());
