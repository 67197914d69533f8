/**
 * The environment variable that says what to use for the server `name` instead of its official image: another image, or
 * a server that already runs, such as `SCROLLBACK_REDIS_URL`.
 */
export function variableOf(name: string, what: "IMAGE" | "URL"): string {
  return `SCROLLBACK_${name.replace(/[^a-z0-9]/g, "_").toUpperCase()}_${what}`;
}
