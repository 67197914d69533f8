import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Scope = Record<"user_id" | "agent_id" | "app_id" | "run_id", string | null>;
interface Added extends Partial<Scope> {
  messages: { role: string; content: string }[];
}
interface Search {
  query: string;
  filters: { AND: Partial<Scope>[] };
}

export const apiKey = "m0-the-secret-key";

/**
 * A server with Mem0's API. Each message of a user is a memory, stored separately for each entity (user, agent). A search
 * finds a memory if the filter names the same application and run, and the memory contains a word of the query.
 */
export class Mem0Server implements AsyncDisposable {
  readonly added: Added[] = [];
  readonly searches: Search[] = [];
  /** Whether searches return a plain list, as in older versions. */
  answersLists = false;
  /** The error of every request; the answer quotes the request, as servers do. */
  failWith: number | undefined;
  /** Whether requests get no answer. */
  hangs = false;
  readonly #memories: { scope: Scope; memory: string }[] = [];
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on("request", (request, response) => void this.#answer(request, response));
  }

  static async start(): Promise<Mem0Server> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new Mem0Server(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = "";
    for await (const chunk of request.setEncoding("utf8")) text += chunk;
    const reply = (status: number, body: unknown) => {
      response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
    };
    const { url = "", headers } = request;
    if (headers.authorization !== `Token ${apiKey}`) return reply(401, { detail: "Invalid key" });
    if (url === "/v1/ping/") {
      return reply(200, { status: "ok", org_id: "o", project_id: "p", user_email: "a@example.org" });
    }
    if (this.hangs) return;
    if (this.failWith !== undefined)
      return reply(this.failWith, { detail: `cannot: ${text} ${headers.authorization}` });
    const body = JSON.parse(text);
    if (url === "/v3/memories/add/") return reply(200, this.#add(body));
    if (url === "/v3/memories/search/") return reply(200, this.#search(body));
    reply(404, { detail: url });
  }

  #add(added: Added): unknown {
    this.added.push(added);
    const { user_id = null, agent_id = null, app_id = null, run_id = null } = added;
    const entities = [user_id !== null && { user_id }, agent_id !== null && { agent_id }].filter(Boolean);
    for (const entity of entities.length > 0 ? entities : [{}]) {
      const scope: Scope = { user_id: null, agent_id: null, app_id, run_id, ...(entity || {}) };
      for (const { role, content } of added.messages) {
        if (role === "user") this.#memories.push({ scope, memory: content });
      }
    }
    return { message: "queued", status: "PENDING", event_id: "1" };
  }

  #search(search: Search): unknown {
    this.searches.push(search);
    const asked: Scope = { user_id: null, agent_id: null, app_id: null, run_id: null };
    Object.assign(asked, ...search.filters.AND);
    const words = search.query.toLowerCase().match(/\w{4,}/g) ?? [];
    const found = this.#memories.filter(
      ({ scope, memory }) =>
        Object.entries(asked).every(([key, value]) => scope[key as keyof Scope] === value) &&
        words.some((word) => memory.toLowerCase().includes(word)),
    );
    const results = found.map(({ memory }, index) => ({ id: String(index), memory, score: 0.9 }));
    return this.answersLists ? results : { results };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}
