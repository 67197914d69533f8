import { TcpProxy } from "@scrollback/conformance";
import type { SharedServer } from "@scrollback/conformance/servers";
import { onTestFinished } from "vitest";

/** A proxy to a server, which is closed after the test, and the server's URL through it. */
export async function throughProxy(
  server: SharedServer,
  finished: (close: () => Promise<void> | void) => void = onTestFinished,
): Promise<{ proxy: TcpProxy; url: string }> {
  const proxy = new TcpProxy();
  finished(() => proxy.close());
  return { proxy, url: await proxy.forwardUrl(server.url, 6379) };
}
