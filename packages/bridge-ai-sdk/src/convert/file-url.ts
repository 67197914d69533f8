import { createDownload } from "../ai.ts";

/** Whether the SDK can send a URL to a model: http or https without credentials, or data in base64. */
export function isFileUrl(url: unknown): url is string {
  if (typeof url !== "string" || !URL.canParse(url)) return false;
  const { protocol, username, password } = new URL(url);
  if (protocol === "http:" || protocol === "https:") return username === "" && password === "";
  const [, base64 = ""] = /^data:[^,]*;base64,([\w+/-]+)={0,2}$/i.exec(url) ?? [];
  // One character of base64 is less than a byte.
  return base64.length % 4 !== 1 && base64 !== "";
}

/** Whether the SDK loads files of a URL: not from this machine, nor from a private network. Makes no request. */
export async function isPublicUrl(url: string): Promise<boolean> {
  const check = createDownload({ fetch: async () => new Response() });
  return await check({ url: new URL(url) }).then(
    () => true,
    () => false,
  );
}

/**
 * Whether a file is still there: requests it by the SDK's rules for addresses and redirects, and reads only the response's head. Not
 * with `HEAD`: a signed URL is often signed for `GET` alone.
 */
export async function isThere(url: URL, ms: number): Promise<boolean> {
  const download = createDownload({ fetch: headOf });
  return await download({ url, abortSignal: AbortSignal.timeout(ms) }).then(
    () => true,
    () => false,
  );
}

const headOf: typeof fetch = async (input, init) => {
  const response = await fetch(input, init);
  await response.body?.cancel();
  const location = response.headers.get("location");
  return new Response(null, { status: response.status, ...(location !== null && { headers: { location } }) });
};
