import { createPostgresStores } from "@scrollback/store-postgres";
import { declareServerTests } from "./backends.ts";

declareServerTests("PostgreSQL", "postgres", (url, tableName) => createPostgresStores({ url, tableName }));
