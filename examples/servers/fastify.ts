import { nodeListener } from "@scrollback/bridge-ai-sdk";
import { fastify } from "fastify";
import { answer } from "./chat.ts";

const app = fastify();
const listener = nodeListener(answer);
app.register(async (api) => {
  // The handler reads the body itself.
  api.removeAllContentTypeParsers();
  api.addContentTypeParser("*", (_request, _body, done) => done(null));
  api.all("/api/*", (request, reply) => {
    reply.hijack();
    listener(request.raw, reply.raw);
  });
});
await app.listen({ port: Number(process.env.PORT ?? 3000) });
