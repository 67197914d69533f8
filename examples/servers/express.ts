import { nodeListener } from "@scrollback/bridge-ai-sdk";
import express from "express";
import { answer } from "./chat.ts";

const app = express();
// Before express.json(): the handler reads the body itself.
app.all("/api/{*path}", nodeListener(answer));
app.use(express.json());
app.listen(Number(process.env.PORT ?? 3000), "127.0.0.1");
