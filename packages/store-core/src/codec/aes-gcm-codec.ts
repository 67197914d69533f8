import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
} from "node:crypto";
import { types } from "node:util";
import { decodeBase64 } from "#runtime";
import { type Check, checkOptions, hasMethods, invalid } from "../arguments.ts";
import { StoreError } from "../errors.ts";
import { type Codec, checkedCodec, jsonCodec } from "./codec.ts";
import { packText, unpackText } from "./packed-text.ts";
import type { RecordLocation, RecordWrite } from "./record-location.ts";

/** A key of {@link aesGcmCodec} and its id in the records. */
interface EncryptionKey {
  /** Readable in each record: 1 to 64 letters, digits, `_`, `-` and `.`. Never reuse it for another key. */
  id: string;
  /** 32 random bytes. The codec keeps no reference to them: changing or clearing them afterwards has no effect. */
  key: Uint8Array;
}

/** The options of {@link aesGcmCodec}. */
export interface AesGcmCodecOptions {
  /** At least one key, the newest first. The newest key encrypts. Each key decrypts the records with its id. */
  keys: readonly EncryptionKey[];
  /** The codec that converts a value to text. Default: {@link jsonCodec}. */
  codec?: Codec;
}

const ALGORITHM = "aes-256-gcm";
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const NO_KEYS = "must be a list of keys, the newest first";
const keyId = /^[\w.-]{1,64}$/;
const encrypted = /^#([\w.-]{1,64}):/;

const isKeyRing: Check = (value) => {
  if (!Array.isArray(value) || value.length === 0) return NO_KEYS;
  const ids = new Set<unknown>();
  for (const [index, key] of value.entries()) {
    const fields: Partial<Record<keyof EncryptionKey, unknown>> = Object(key);
    if (typeof fields.id !== "string" || !keyId.test(fields.id)) {
      return `[${index}].id must be 1 to 64 letters, digits, "_", "-" and "."`;
    }
    if (!types.isUint8Array(fields.key) || fields.key.byteLength !== KEY_BYTES) {
      return `[${index}].key must be a Uint8Array of ${KEY_BYTES} bytes`;
    }
    if (ids.has(fields.id)) return `[${index}].id is the id of another key, too`;
    ids.add(fields.id);
  }
  return undefined;
};

/**
 * Encrypts the text of another codec with AES-256-GCM. A record is bound to its thread, its kind and its time. A record that was
 * changed, moved to another thread, given another time, written without this codec or with a key that is not in `keys` is `CORRUPT`.
 * Metadata is encrypted like messages. Thread ids, kinds, sizes, counts and times stay readable in the backend.
 *
 * A write that is repeated under its operation id counts as the same change while the newest key is the same. After a
 * rotation it fails with `CONFLICT`. Use a key for at most 2^32 messages.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option; the message contains no key.
 * @example
 * const key = Buffer.from(process.env.SCROLLBACK_KEY ?? "", "base64");
 * const codec = aesGcmCodec({ keys: [{ id: "2026-11", key }], codec: gzipCodec() });
 * const stores = createMemoryStores({ codec });
 */
export function aesGcmCodec(options: AesGcmCodecOptions): Codec {
  checkOptions("aesGcmCodec", options, { keys: isKeyRing, codec: hasMethods("encode", "decode") });
  const { keys = [], codec: inner = jsonCodec } = options ?? {};
  const codec = checkedCodec(inner);
  const ring = keys.map(({ id, key }) => deriveKey(id, key));
  const newest = ring[0] ?? invalid(`aesGcmCodec: keys ${NO_KEYS}`);
  const byId = new Map(ring.map((key) => [key.id, key]));
  return Object.freeze<Codec>({
    encode(value, write) {
      const text = codec.encode(value, write);
      return `#${newest.id}:${encrypt(newest, text, write).toString("base64")}`;
    },
    decode(text, location) {
      const id = encrypted.exec(text)?.[1] ?? corrupt("it is not encrypted, or by another codec");
      const key = byId.get(id) ?? corrupt(`it was encrypted with the key "${id}", which is not in keys`);
      const sealed =
        decodeBase64(text.slice(id.length + 2)) ?? corrupt("it is not base64 as this codec writes it");
      return decodeQuietly(codec, decrypt(key, sealed, location), location);
    },
  });
}

interface DerivedKey {
  readonly id: string;
  readonly encryption: KeyObject;
  readonly nonce: KeyObject;
}

/** One key for each purpose, so that neither reveals anything about the other. */
function deriveKey(id: string, key: Uint8Array): DerivedKey {
  // Key objects: importing a raw key for each message takes longer than encrypting the message.
  const derive = (purpose: string) =>
    createSecretKey(Buffer.from(hkdfSync("sha256", key, "", `scrollback ${purpose}`, KEY_BYTES)));
  return { id, encryption: derive(ALGORITHM), nonce: derive("nonce") };
}

/** Nonce, ciphertext, tag. */
function encrypt(key: DerivedKey, text: string, write: RecordWrite): Buffer {
  const packed = packText(text);
  const nonce = nonceOf(key, packed, write);
  const cipher = createCipheriv(ALGORITHM, key.encryption, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(bindingOf(write));
  return Buffer.concat([nonce, cipher.update(packed), cipher.final(), cipher.getAuthTag()]);
}

/**
 * Not random, because a repeated write must produce the same text. The nonce is a function of the write and its text,
 * under a separate key. Two texts get the same nonce no more often than with random nonces, and the same text is
 * encrypted differently in another write.
 */
function nonceOf(key: DerivedKey, packed: Buffer, write: RecordWrite): Buffer {
  const { operationId, index, kind, threadId, createdAt } = write;
  // JSON contains no line feed, so the encoding is unambiguous. Everything that is bound counts: one nonce for two bindings would
  // reveal the key of the tags.
  const hmac = createHmac("sha256", key.nonce).update(
    `${JSON.stringify([operationId, index, kind, threadId, createdAt])}\n`,
  );
  return hmac.update(packed).digest().subarray(0, NONCE_BYTES);
}

function decrypt(key: DerivedKey, sealed: Uint8Array, location: RecordLocation): string {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) corrupt("it is cut short");
  const nonce = sealed.subarray(0, NONCE_BYTES);
  const decipher = createDecipheriv(ALGORITHM, key.encryption, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(bindingOf(location));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  const packed = decipher.update(sealed.subarray(NONCE_BYTES, -TAG_BYTES));
  try {
    decipher.final();
  } catch {
    corrupt(
      `it does not open with the key "${key.id}": it was changed, belongs to another thread or time, or that was another key`,
    );
  }
  return unpackText(packed);
}

/** A kind is one letter, and a time ends at the first colon, so the encoding is unambiguous. */
function bindingOf({ kind, threadId, createdAt }: RecordLocation): Buffer {
  return Buffer.from(`${kind}${createdAt ?? ""}:${threadId}`);
}

/** Hides the inner codec's errors: they may quote the text. */
function decodeQuietly(codec: Codec, text: string, location: RecordLocation): unknown {
  try {
    return codec.decode(text, location);
  } catch {
    return corrupt("the codec under the encryption refused it; was it written with another one?");
  }
}

function corrupt(problem: string): never {
  throw new StoreError("CORRUPT", problem);
}
