import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { answer } from "./chat.ts";

const app = new Hono();
app.all("/api/*", (context) => answer(context.req.raw));
serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000), hostname: "127.0.0.1" });
