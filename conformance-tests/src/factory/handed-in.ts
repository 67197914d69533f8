/** A client that a user made, and options that hand it in. */
export interface HandedIn<Options> {
  readonly options: Options;
  /** Asks the server something with the client itself. Rejects once the client is closed. */
  use(): Promise<unknown>;
  close(): unknown;
}
