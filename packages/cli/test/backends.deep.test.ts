import { declareBackendTests } from "./backends.ts";
import { Project } from "./project.ts";

const clients = ["ioredis@6", "mongodb@7", "pg@8", "@aws-sdk/client-dynamodb@3"];
declareBackendTests(["sqlite", "redis", "mongodb", "postgres", "dynamodb"], () =>
  Project.create(["sqlite", "redis", "mongo", "postgres", "dynamo"], clients),
);
