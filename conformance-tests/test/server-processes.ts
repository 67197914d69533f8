import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";

/** A separate process that starts a server and keeps running. */
export async function startInChild(): Promise<{ child: ChildProcess; port: number }> {
  const module = new URL("../servers/index.ts", import.meta.url).href;
  const script = `const { startServer } = await import("${module}");
    console.log((await startServer("redis")).port);
    setInterval(() => {}, 1000);`;
  const args = ["--input-type=module", "--eval", script];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [port] = await once(child.stdout, "data");
  return { child, port: Number(port) };
}

/** Whether a program accepts connections on a port of this machine. */
export async function connected(port: number): Promise<boolean> {
  const socket = connect({ host: "localhost", port });
  try {
    await once(socket, "connect");
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
