import { definePostgres } from "./family.ts";

export const postgres = definePostgres({
  name: "postgres",
  image: "postgres:18",
  standIn: { suite: "forky" },
});
