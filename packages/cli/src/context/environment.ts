import { type Codec, StoreError } from "@scrollback/store-core";
import { aesGcmCodec, gzipCodec } from "@scrollback/store-core/codecs";
import { CommandError, exitCodes } from "../output/exit-codes.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

/** The backend, of a command's two, that an environment variable refers to. */
export type BackendRole = "source" | "target";

const prefixes = ["SCROLLBACK", "SCROLLBACK_TARGET"] as const;

/** The URL of an argument: the argument, or for `env:NAME` the value of that environment variable. */
export function urlOf(argument: string, environment: Environment): string {
  if (!argument.startsWith("env:")) return argument;
  const name = argument.slice("env:".length);
  return environment[name] || refuse(`${name || "env:"}: this environment variable is not set`);
}

/**
 * The codec that the environment names: `SCROLLBACK_CODEC` and `SCROLLBACK_KEYS`. A target uses the source's codec unless
 * `SCROLLBACK_TARGET_CODEC` names another one, so that a copy is never less protected by accident.
 *
 * @throws CommandError that names the variable and shows no key.
 */
export function codecOf(role: BackendRole, environment: Environment): Codec | undefined {
  const isOwn = role === "target" && environment.SCROLLBACK_TARGET_CODEC !== undefined;
  if (role === "target" && !isOwn && environment.SCROLLBACK_TARGET_KEYS !== undefined)
    refuse("SCROLLBACK_TARGET_KEYS needs SCROLLBACK_TARGET_CODEC");
  const prefix = prefixes[isOwn ? 1 : 0];
  const { [`${prefix}_CODEC`]: name = "json", [`${prefix}_KEYS`]: keys } = environment;
  if (keys !== undefined && !name.startsWith("aes-gcm"))
    refuse(`${prefix}_KEYS needs ${prefix}_CODEC to be aes-gcm or aes-gcm+gzip`);
  switch (name) {
    case "json":
      return undefined;
    case "gzip":
      return gzipCodec();
    case "aes-gcm":
      return encryption(`${prefix}_KEYS`, keys);
    case "aes-gcm+gzip":
      return encryption(`${prefix}_KEYS`, keys, gzipCodec());
    default:
      return refuse(`${prefix}_CODEC must be json, gzip, aes-gcm, aes-gcm+gzip`);
  }
}

/** The environment's values that must not be shown. */
export function secretsOf(environment: Environment): string[] {
  return prefixes.flatMap((prefix) =>
    (environment[`${prefix}_KEYS`] ?? "").split(",").flatMap((key) => key.split(":")[1]?.trim() || []),
  );
}

function encryption(variable: string, value: string | undefined, codec?: Codec): Codec {
  const form = `${variable} must be ID:BASE64 of 32 bytes, the newest first, separated by commas`;
  const keys = (value ?? refuse(`${form}; it is not set`)).split(",").map((one) => {
    const [id = "", base64 = ""] = one.trim().split(":");
    return { id, key: Buffer.from(base64, "base64") };
  });
  try {
    return aesGcmCodec({ keys, ...(codec && { codec }) });
  } catch (cause) {
    return refuse(StoreError.is(cause) ? `${form}: ${cause.message}` : form, cause);
  }
}

function refuse(problem: string, cause?: unknown): never {
  throw new CommandError(exitCodes.usage, problem, { cause });
}
