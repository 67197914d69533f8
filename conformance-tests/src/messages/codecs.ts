import { randomBytes } from "node:crypto";
import { type Codec, jsonCodec } from "@scrollback/store-core";
import { aesGcmCodec, gzipCodec } from "@scrollback/store-core/codecs";

/** An encrypting codec with its own key. */
export function encrypting(id = "suite", codec: Codec = jsonCodec): Codec {
  return aesGcmCodec({ keys: [{ id, key: randomBytes(32) }], codec });
}

/** The codecs of store-core: each one alone, and one over the other. */
export const codecs: Readonly<Record<string, Codec>> = {
  json: jsonCodec,
  gzip: gzipCodec(),
  "AES-GCM": encrypting(),
  "gzip in AES-GCM": encrypting("suite", gzipCodec()),
};
