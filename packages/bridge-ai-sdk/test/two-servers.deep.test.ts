import { declareTwoServerTests } from "./two-servers.ts";

for (const backend of ["SQLite", "MongoDB", "DynamoDB", "PostgreSQL"] as const)
  declareTwoServerTests(backend);
