/** A line of a source file, and its replacement. */
export type Change = readonly [name: string, breaks: string, file: string, from: string, to: string];
