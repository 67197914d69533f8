import { declareTwoServerTests } from "./two-servers.ts";

for (const backend of ["MongoDB", "DynamoDB", "PostgreSQL"] as const) declareTwoServerTests(backend);
