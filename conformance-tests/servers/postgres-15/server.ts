import { definePostgres } from "../postgres/family.ts";

export const postgres15 = definePostgres({
  name: "postgres-15",
  image: "postgres:15",
  standIn: { suite: "bookworm" },
});
