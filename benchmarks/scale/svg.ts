/** A part of an SVG document, escaped and whole. Made by {@link element} only. */
export type Svg = { readonly svg: string };

type Attributes = Readonly<Record<string, string | number>>;

const ESCAPES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
};

function escaped(raw: string): string {
  // XML has no way to write control characters, but for tab and line ends, nor halves of a character.
  const writable = raw.toWellFormed().replace(/[^\P{Cc}\t\n\r]/gu, "");
  return writable.replace(/[&<>"]/g, (found) => ESCAPES[found] ?? "");
}

/** An element; coordinates are rounded to a tenth. */
export function element(name: string, attributes: Attributes, ...children: readonly (Svg | string)[]): Svg {
  const written = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${typeof value === "number" ? rounded(value) : escaped(value)}"`,
  );
  const inside = children.map((child) => (typeof child === "string" ? escaped(child) : child.svg)).join("");
  const start = `<${name}${written.join("")}`;
  return { svg: inside === "" ? `${start}/>\n` : `${start}>${inside}</${name}>\n` };
}

/** @throws RangeError for what is no number: a picture with holes would look like one without. */
function rounded(value: number): number {
  if (!Number.isFinite(value)) throw new RangeError(`${value} is no place in a picture`);
  return Math.round(value * 10) / 10;
}

export function group(attributes: Attributes, children: readonly Svg[]): Svg {
  return element("g", attributes, ...children);
}

/** A whole document, its title and description for those who cannot see it. */
export function svgDocument(
  size: { width: number; height: number },
  { title, description, style }: { title: string; description: string; style: string },
  children: readonly Svg[],
): string {
  const { width, height } = size;
  const root = element(
    "svg",
    {
      xmlns: "http://www.w3.org/2000/svg",
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-labelledby": "title description",
    },
    element("title", { id: "title" }, title),
    element("desc", { id: "description" }, description),
    element("style", {}, style),
    ...children,
  );
  return root.svg;
}
