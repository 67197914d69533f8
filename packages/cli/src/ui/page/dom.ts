type Attributes = Readonly<Record<string, string | number | undefined>>;

/** An element with attributes and children. A text is always a text node, so that no text of a store is markup. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes))
    if (value !== undefined) made.setAttribute(name, String(value));
  made.append(...children);
  return made;
}

/** A button with a visible name. */
export function button(name: string, onClick: () => void): HTMLButtonElement {
  const made = element("button", { type: "button" }, name);
  made.addEventListener("click", onClick);
  return made;
}

/** A time, in UTC: two readers mean the same by it. */
export function time(milliseconds: number): HTMLElement {
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime())) return element("span", {}, String(milliseconds));
  const iso = date.toISOString();
  return element("time", { datetime: iso }, iso.replace("T", " ").replace(/\.\d+Z$/, " UTC"));
}
