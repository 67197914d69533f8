/**
 * What only Scrollback's own packages share. It may change in any release.
 *
 * @packageDocumentation
 */
export { sessionContract, trialOf } from "./contract/session-contract.ts";
