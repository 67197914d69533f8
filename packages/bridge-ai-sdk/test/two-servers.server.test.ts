import { declareTwoServerTests } from "./two-servers.ts";

declareTwoServerTests("Redis");
