const counts = new Intl.NumberFormat("en");
const sizes = new Intl.NumberFormat("en", {
  style: "unit",
  unit: "byte",
  unitDisplay: "narrow",
  notation: "compact",
  maximumFractionDigits: 1,
});

/** `12,345` */
export function shownCount(count: number): string {
  return counts.format(count);
}

/** `1 thread`, `12,345 threads` */
export function countOf(count: number, noun: string): string {
  return `${shownCount(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** `12.3KB`, in steps of 1,000. */
export function shownSize(bytes: number): string {
  return sizes.format(bytes);
}

/** `2026-11-22T12:44:24Z` */
export function shownTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, "Z");
}

/** `850ms`, `12s`, `3m 20s`, `2h 5m`, `12d 3h` */
export function shownDuration(milliseconds: number): string {
  if (milliseconds < 1_000) return `${Math.round(milliseconds)}ms`;
  const seconds = Math.round(milliseconds / 1_000);
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3_600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
  ] as const;
  const first = parts.findIndex(([count]) => count > 0);
  const shown = parts.slice(first, first + 2).filter(([count]) => count > 0);
  return shown.map(([count, unit]) => `${count}${unit}`).join(" ");
}
