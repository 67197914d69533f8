import { declareBackendTests } from "./backends.ts";
import { SourceProject } from "./source-project.ts";

declareBackendTests(["sqlite", "redis", "mongodb"], async () => new SourceProject());
