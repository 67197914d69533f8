import type { Socket } from "node:net";

/** Calls `take` with each line. Only a line feed ends a line: readline also ends lines at U+2028, which JSON does not escape. */
export function onLine(socket: Socket, take: (line: string) => void): void {
  let pieces: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => {
    let rest = chunk;
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      const line = Buffer.concat([...pieces, rest.subarray(0, end)]).toString();
      pieces = [];
      rest = rest.subarray(end + 1);
      take(line);
    }
    if (rest.length > 0) pieces.push(rest);
  });
}
