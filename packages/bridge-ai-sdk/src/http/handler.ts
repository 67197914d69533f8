/** What the handler is told about a request. It does not authenticate. */
export interface RequestContext {
  /** The id of the user or tenant. */
  readonly owner: string;
  /**
   * Of a platform that ends a request's work with its response: `(work) => ctx.waitUntil(work)` in a Cloudflare Worker, `after` of
   * Next.js, `waitUntil` of Vercel. Called once for each request, with a promise that settles when its answer and title are saved and
   * its lists are in order, and that never rejects. Default: the process goes on.
   */
  waitUntil?(work: Promise<void>): void;
}

/**
 * Serves chats to `useChat`. It does not authenticate or limit rates: do this before you call it. A POST of a page of another origin
 * must have the content type `application/json`, which a browser sends only if your server allows it by CORS.
 */
export interface ChatHandler {
  /**
   * POST of a message: `{ id, message | messages, trigger?, messageId?, parentId?, branch? }`. Returns a UI message stream, with
   * the run's id in the header `x-scrollback-run`. The message is stored before the model is called, and the answer is completed
   * even if the client disconnects.
   */
  handle(request: Request, context: RequestContext): Promise<Response>;
  /** GET of a running answer from its beginning, or of an answer that ended in the last 10 s. Otherwise 204. */
  resume(chatId: string, context: RequestContext): Promise<Response>;
  /**
   * POST that stops the running answer, or only the run of `runId`. Returns `{ stopped }` after the answer so far is saved; false
   * if there is no such run, if its process has died, or if it has not ended within 20 s.
   */
  stop(chatId: string, context: RequestContext & { readonly runId?: string }): Promise<Response>;
  /** All routes under `/api`: the three above, and lists, reads, changes, forks, titles, exports and imports of chats and messages. */
  fetch(request: Request, context: RequestContext): Promise<Response>;
  /** Refuses new answers. Stops the running ones, or waits for them with `wait`; returns when they are saved. */
  close(options?: { readonly wait?: boolean }): Promise<void>;
}
