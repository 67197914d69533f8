import type { Clause } from "../clause.ts";
import { order } from "./c01-order.ts";
import { atomicCommit } from "./c02-atomic-commit.ts";
import { freshReads } from "./c03-fresh-reads.ts";
import { exactlyOnce } from "./c04-exactly-once.ts";
import { compareAndSet } from "./c05-compare-and-set.ts";
import { trimming } from "./c06-trimming.ts";
import { reading } from "./c07-reading.ts";
import { fidelity } from "./c08-fidelity.ts";
import { isolation } from "./c09-isolation.ts";
import { state } from "./c10-state.ts";
import { expiry } from "./c11-expiry.ts";
import { size } from "./c12-size.ts";
import { errors } from "./c13-errors.ts";
import { lifecycle } from "./c14-lifecycle.ts";
import { cancellation } from "./c15-cancellation.ts";
import { corruption } from "./c16-corruption.ts";
import { concurrency } from "./c17-concurrency.ts";
import { metadata } from "./c18-metadata.ts";
import { time } from "./c19-time.ts";
import { listing } from "./c20-listing.ts";
import { deletion } from "./c21-deletion.ts";
import { copies } from "./c22-copies.ts";
import { index } from "./c23-index.ts";
import { history } from "./history.ts";
import { model } from "./model.ts";

/** The clauses of the protocol, by their names in PROTOCOL.md, and all of them together. */
export const clauses: Readonly<Record<string, Clause>> = {
  C1: order,
  C2: atomicCommit,
  C3: freshReads,
  C4: exactlyOnce,
  C5: compareAndSet,
  C6: trimming,
  C7: reading,
  C8: fidelity,
  C9: isolation,
  C10: state,
  C11: expiry,
  C12: size,
  C13: errors,
  C14: lifecycle,
  C15: cancellation,
  C16: corruption,
  C17: concurrency,
  C18: metadata,
  C19: time,
  C20: listing,
  C21: deletion,
  C22: copies,
  C23: index,
  Model: model,
  History: history,
};
