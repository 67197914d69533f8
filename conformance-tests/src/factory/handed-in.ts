/** A client that a user made, and options that pass it to the adapter. */
export interface HandedIn<Options> {
  readonly options: Options;
  /** Sends a request with the client itself. Rejects after the client is closed. */
  use(): Promise<unknown>;
  close(): unknown;
}
