/** Where a session is in a directory. */
export interface Position {
  readonly time: number;
  readonly sessionId: string;
  readonly userId: string;
}
