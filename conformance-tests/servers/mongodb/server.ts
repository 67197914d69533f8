import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { endpointIn, PATIENCE_MS, type ServerDefinition } from "../definition.ts";
import { run } from "../programs.ts";

/** Debian has no MongoDB. The stand-in is FerretDB, which speaks its protocol, over PostgreSQL with the DocumentDB extension. */
export const mongodb: ServerDefinition = {
  name: "mongodb",
  image: "mongo:8",
  port: 27017,
  command({ args, password, tls }) {
    if (password !== undefined || tls)
      throw new Error("mongodb is started without a password and without TLS");
    return ["mongod", ...args];
  },
  url: ({ host, port, username, password, tls }) => {
    const login =
      password === undefined ? "" : `${encodeURIComponent(username ?? "")}:${encodeURIComponent(password)}@`;
    return `mongodb://${login}${host}:${port}/${tls === undefined ? "" : "?tls=true"}`;
  },
  endpoint: (text) =>
    endpointIn(text, {
      ...{ protocol: /^mongodb:$/, port: 27017 },
      isTls: ({ searchParams }) => /true/.test(searchParams.get("tls") ?? searchParams.get("ssl") ?? ""),
    }),
  async identify(endpoint) {
    const { MongoClient } = await import("mongodb");
    const times = { serverSelectionTimeoutMS: PATIENCE_MS, socketTimeoutMS: PATIENCE_MS };
    const client = new MongoClient(mongodb.url(endpoint), { ...times, directConnection: true });
    try {
      const { version, ferretdb } = await client.db("admin").command({ buildInfo: 1 });
      if (ferretdb) return { product: "FerretDB", version: String(ferretdb.version).replace(/^v/, "") };
      return { product: "MongoDB", version };
    } finally {
      await client.close();
    }
  },
  standIn: {
    suite: "forky",
    async download(folder) {
      const version = (await readFile(join(folder, "ferretdb-version"), "utf8")).trim();
      await run("go", ["version"]).catch((cause: unknown) => {
        throw new Error(
          "the stand-in for MongoDB is compiled by Go 1.25 or later, and there is no go on the PATH. Install Go from its own site (Debian's package may be older).",
          { cause },
        );
      });
      const program = `github.com/FerretDB/FerretDB/v2/cmd/ferretdb@${version}`;
      // Static, because it runs on another system than the one that compiles it. Without debug information, for time and size.
      await run("env", [`GOBIN=${folder}`, "CGO_ENABLED=0", "go", "install", "-ldflags=-s -w", program]);
    },
  },
};
