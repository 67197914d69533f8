/** A line of a source file, and what stands there instead. */
export type Change = readonly [name: string, breaks: string, file: string, from: string, to: string];
