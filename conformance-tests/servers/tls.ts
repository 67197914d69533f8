import { mkdtemp, readFile, rm } from "node:fs/promises";
import { isIP } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Packages, run } from "./programs.ts";

/** The folder of a server's certificate and key inside its container. */
export const tlsFolder = "/tls";
export const certificatePath = `${tlsFolder}/certificate.pem`;
export const keyPath = `${tlsFolder}/key.pem`;

/** What to install for {@link makeCertificate}. */
export const tlsPrograms: Packages = { openssl: "openssl" };

/**
 * A new self-signed certificate for `host` and this machine's names, valid for a day, and its key. Both are PEM.
 *
 * @param host the name or address by which clients reach the engine's containers, not always `localhost`.
 */
export async function makeCertificate(host: string): Promise<{ certificate: string; key: string }> {
  const folder = await mkdtemp(join(tmpdir(), "scrollback-tls-"));
  const [certificate, key] = [join(folder, "certificate.pem"), join(folder, "key.pem")];
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"];
  const alternatives = ["DNS:localhost", "IP:127.0.0.1", "IP:::1", `${isIP(host) ? "IP" : "DNS"}:${host}`];
  const names = [
    "-subj",
    "/CN=localhost",
    "-addext",
    `subjectAltName=${[...new Set(alternatives)].join(",")}`,
  ];
  try {
    await run("openssl", ["req", "-x509", ...kind, ...names, "-out", certificate, "-keyout", key]);
    return { certificate: await readFile(certificate, "utf8"), key: await readFile(key, "utf8") };
  } catch (error) {
    throw new Error("making a certificate for a test server needs the openssl program on the PATH", {
      cause: error,
    });
  } finally {
    await rm(folder, { recursive: true });
  }
}
