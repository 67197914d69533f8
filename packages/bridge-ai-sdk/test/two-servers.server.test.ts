import { declareTwoServerTests } from "./two-servers.ts";

for (const backend of ["SQLite", "Redis"] as const) declareTwoServerTests(backend);
