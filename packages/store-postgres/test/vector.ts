import { Client } from "pg";

/** Creates the extension pgvector in a database. Several processes may do it at once. */
export async function createVector(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(
      "BEGIN; SELECT pg_advisory_xact_lock(7); CREATE EXTENSION IF NOT EXISTS vector; COMMIT",
    );
  } finally {
    await client.end();
  }
}
