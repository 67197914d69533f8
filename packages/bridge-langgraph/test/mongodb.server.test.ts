import { createMongoStores } from "@scrollback/store-mongo";
import { declareServerTests } from "./backends.ts";

declareServerTests("MongoDB", "mongodb", (url, collectionName) => createMongoStores({ url, collectionName }));
