/** The part of the runtime's module that the tests use. The types of Cloudflare replace globals that the repository uses. */
declare module "cloudflare:workers" {
  export class DurableObject<Env = unknown> {
    constructor(ctx: DurableObjectState, env: Env);
    readonly ctx: DurableObjectState;
    readonly env: Env;
  }
  interface DurableObjectState {
    readonly storage: import("@cloudflare/workers-types").DurableObjectStorage;
  }
}
