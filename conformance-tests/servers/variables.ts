/**
 * The environment variable with a replacement for the official image of the server `name`: another image, or
 * a running server, such as `SCROLLBACK_REDIS_URL`.
 */
export function variableOf(name: string, what: "IMAGE" | "URL"): string {
  return `SCROLLBACK_${name.replace(/[^a-z0-9]/g, "_").toUpperCase()}_${what}`;
}
