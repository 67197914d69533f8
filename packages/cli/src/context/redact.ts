/** The part of a URL that can be shown: without user, password, query and fragment. */
export function shownUrl(url: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*:/i.exec(url)?.[0] ?? "";
  const parts = /^([a-z][a-z0-9+.-]*:\/\/)(?:.*@)?([^?#]*)/is.exec(url);
  return parts ? `${parts[1]}${parts[2]}` : scheme + url.slice(scheme.length).replace(/[?#].*$/s, "");
}

/**
 * Removes secrets from a text: replaces each URL by the part that can be shown, and each secret by `***`. For text that may
 * contain secrets, such as a library's error message.
 */
export function redact(text: string, urls: readonly string[], secrets: readonly string[]): string {
  let redacted = text;
  for (const url of urls) redacted = redacted.replaceAll(url, shownUrl(url));
  const all = [...secrets, ...urls.flatMap(secretsOfUrl)].filter((secret) => secret !== "");
  for (const secret of all.sort((one, other) => other.length - one.length)) {
    redacted = redacted.replaceAll(secret, "***");
  }
  // A form such as redis://[user@]host is not a URL.
  return redacted.replace(/([a-z][a-z0-9+.-]*:\/\/)(?!\[)[^\s"'<>]*@/gi, "$1***@");
}

/** The secrets of a URL: the password and secret query values, unchanged and decoded. */
function secretsOfUrl(url: string): string[] {
  const password = /^[a-z][a-z0-9+.-]*:\/\/[^:/]*:(.*)@/is.exec(url)?.[1] ?? "";
  const query = /\?(.*)$/s.exec(url)?.[1] ?? "";
  const values = query
    .split("&")
    .flatMap((pair) => (/pass|secret|token|key/i.test(pair) ? pair.replace(/^[^=]*=/, "") : []));
  return [password, ...values].flatMap((secret) => [secret, decoded(secret)]);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
