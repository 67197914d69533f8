/**
 * What only Scrollback's own packages share. It may change in any release.
 *
 * @packageDocumentation
 */
export { default as fc } from "fast-check";
export { callDamaged, rejection } from "./checks/errors.ts";
export { formatLoad, underLoad } from "./faults/load.ts";
export { Random } from "./observed/random.ts";
