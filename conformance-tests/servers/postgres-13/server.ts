import { definePostgres } from "../postgres/family.ts";

export const postgres13 = definePostgres({
  name: "postgres-13",
  image: "postgres:13",
  standIn: { suite: "bullseye" },
});
