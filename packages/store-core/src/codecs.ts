/**
 * Codecs that compress and encrypt. For runtimes with Node's `node:crypto` and `node:zlib`.
 *
 * @packageDocumentation
 */
export { aesGcmCodec } from "./codec/aes-gcm-codec.ts";
export { gzipCodec } from "./codec/gzip-codec.ts";
