/** The types that a browser shows without running anything. SVG and HTML run scripts, and every other type is downloaded. */
const SHOWN =
  /^(image\/(png|jpeg|gif|webp|avif|bmp)|audio\/[\w.+-]+|video\/[\w.+-]+|text\/plain|application\/pdf)$/;

/** The headers of a response with a file of a user, which make it safe at the address of an application. */
export function fileHeaders(mediaType: string): Readonly<Record<string, string>> {
  const type = mediaType.toLowerCase().split(";")[0]?.trim() ?? "";
  const isShown = SHOWN.test(type);
  return {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    "cross-origin-resource-policy": "same-site",
    "content-type": isShown ? type : "application/octet-stream",
    "content-disposition": isShown ? "inline" : "attachment",
  };
}
