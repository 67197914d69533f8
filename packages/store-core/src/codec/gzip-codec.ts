import { gunzipSync, gzipSync } from "node:zlib";
import { decodeBase64 } from "#runtime";
import { checkOptions, hasMethods, isPositiveInteger } from "../arguments.ts";
import { StoreError } from "../errors.ts";
import { type Codec, checkedCodec, jsonCodec } from "./codec.ts";

/** The options of {@link gzipCodec}. */
export interface GzipCodecOptions {
  /** The codec that converts a value to text. Default: {@link jsonCodec}. */
  codec?: Codec;
  /**
   * The maximum size of a text before compression, in bytes: a positive integer. A larger text is `TOO_LARGE` when
   * written, `CORRUPT` when read. Default: 16 MiB.
   */
  maxBytes?: number;
}

const DEFAULT_MAX_BYTES = 16 * 1024 ** 2;
/** Shorter texts are not compressed: the frame of a gzip stream takes 18 bytes. */
const MIN_BYTES = 128;
const MARK = "^";
/** The character after the mark. The rest is gzip as base64, or an uncompressed text that itself begins with the mark. */
const COMPRESSED = "g";
const PLAIN = "p";

/**
 * Compresses the text of another codec with gzip, as base64. A text that would not get shorter, or has fewer than 128
 * bytes, is stored unchanged. So a record is never larger than without compression, and records that were written without
 * this codec stay readable. Runs synchronously. A write that is repeated under its operation id counts as the same change
 * only if zlib compresses it to the same bytes. With another version of Node.js it may fail with `CONFLICT`.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid or unknown option.
 * @example
 * const stores = createMemoryStores({ codec: gzipCodec() });
 */
export function gzipCodec(options: GzipCodecOptions = {}): Codec {
  checkOptions("gzipCodec", options, {
    codec: hasMethods("encode", "decode"),
    maxBytes: isPositiveInteger,
  });
  const { maxBytes = DEFAULT_MAX_BYTES } = options;
  const codec = checkedCodec(options.codec ?? jsonCodec);
  return Object.freeze<Codec>({
    encode(value, write) {
      const text = codec.encode(value, write);
      const bytes = Buffer.byteLength(text);
      if (bytes > maxBytes) {
        throw new StoreError(
          "TOO_LARGE",
          `${bytes} bytes before compression, at most ${maxBytes} fit (gzipCodec's maxBytes)`,
        );
      }
      const plain = text.startsWith(MARK) ? MARK + PLAIN + text : text;
      if (bytes < MIN_BYTES) return plain;
      const compressed = MARK + COMPRESSED + gzipSync(text).toString("base64");
      return compressed.length < bytes ? compressed : plain;
    },
    decode(text, location) {
      if (!text.startsWith(MARK)) return codec.decode(text, location);
      if (text[1] === PLAIN) return codec.decode(text.slice(2), location);
      if (text[1] !== COMPRESSED) throw new StoreError("CORRUPT", "it was written with another codec");
      return codec.decode(decompress(text.slice(2), maxBytes), location);
    },
  });
}

function decompress(base64: string, maxBytes: number): string {
  const compressed = decodeBase64(base64);
  if (!compressed) throw new StoreError("CORRUPT", "it is not base64 as this codec writes it");
  try {
    return gunzipSync(compressed, { maxOutputLength: maxBytes }).toString();
  } catch (cause) {
    const isTooLarge = cause instanceof Error && "code" in cause && cause.code === "ERR_BUFFER_TOO_LARGE";
    throw new StoreError(
      "CORRUPT",
      isTooLarge
        ? `it is larger than ${maxBytes} bytes when decompressed (gzipCodec's maxBytes)`
        : "it cannot be decompressed",
      { cause },
    );
  }
}
