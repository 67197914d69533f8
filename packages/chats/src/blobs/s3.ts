/**
 * Files of chats in a bucket of Amazon S3, or of another service with its interface.
 *
 * @packageDocumentation
 */
import {
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandInput,
  PutObjectCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import type { BlobStorage } from "@scrollback/collections";
import { StoreError } from "@scrollback/store-core";
import { checkOptions, hasMethods, invalid, isString } from "@scrollback/store-core/driver";
import { isBoolean, isText } from "@scrollback/store-core/internal";
import { isMissing, isOutOfRange, storeErrorOf } from "./s3-errors.ts";

/** S3 signs for no longer. */
const MAX_URL_MS = 7 * 24 * 60 * 60 * 1_000;

/** Options of {@link createS3Blobs}. */
export interface S3BlobOptions {
  /** Yours: its region, credentials, endpoint and retries are used, and it is not closed. */
  readonly client: S3Client;
  readonly bucket: string;
  /** The beginning of the objects' keys, such as `"files/"`. Default: none. */
  readonly prefix?: string;
  /** Whether the storage makes signed URLs, by the package `@aws-sdk/s3-request-presigner`. Default false. */
  readonly signUrls?: boolean;
}

/**
 * Contents of files in a bucket, an object each, for {@link ChatStoreOptions.blobs}. Does no I/O. The bucket must exist. Its credentials need
 * `s3:GetObject`, `s3:PutObject` and `s3:DeleteObject` of its objects, and `s3:ListBucket`: without it S3 denies access to what is missing.
 *
 * @throws StoreError `INVALID_ARGUMENT` for an invalid option. Calls of the storage throw `UNAVAILABLE`: retryable after a timeout, an error
 *   of the service, or throttling; not retryable if the bucket, its region or the credentials are wrong. `UNSUPPORTED`: the package that
 *   signs URLs is not installed.
 * @example
 * const blobs = createS3Blobs({ client: new S3Client({ region: "eu-central-1" }), bucket: "chat-files" });
 * const chats = new ChatStore({ stores, blobs });
 */
export function createS3Blobs(options: S3BlobOptions): BlobStorage {
  const checks = { client: hasMethods("send"), bucket: isString, prefix: isText, signUrls: isBoolean };
  checkOptions("createS3Blobs", options, checks, ["client", "bucket"]);
  const { client, bucket, prefix = "", signUrls = false } = options;
  const objectOf = (key: string) => ({ Bucket: bucket, Key: prefix + key });
  const abortedBy = (signal: AbortSignal | undefined) => (signal ? { abortSignal: signal } : {});

  async function named<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      throw storeErrorOf(error, bucket);
    }
  }

  async function get(
    input: GetObjectCommandInput,
    signal: AbortSignal | undefined,
  ): Promise<Uint8Array | undefined> {
    try {
      const { Body } = await client.send(new GetObjectCommand(input), abortedBy(signal));
      return (await Body?.transformToByteArray()) ?? new Uint8Array();
    } catch (error) {
      if (isMissing(error)) return undefined;
      if (isOutOfRange(error)) return new Uint8Array();
      throw error;
    }
  }

  return {
    async put(key, content, { signal } = {}) {
      const command = new PutObjectCommand({ ...objectOf(key), Body: content });
      await named(client.send(command, abortedBy(signal)));
    },
    async get(key, { start = 0, end = Number.POSITIVE_INFINITY, signal } = {}) {
      // A range has at least one byte. The last one may be beyond the object's.
      const last = Number.isFinite(end) ? Math.max(start, end - 1) : "";
      const isWhole = start === 0 && last === "";
      const range = isWhole ? {} : { Range: `bytes=${start}-${last}` };
      const content = await named(get({ ...objectOf(key), ...range }, signal));
      return content?.subarray(0, Math.max(0, end - start));
    },
    async delete(key, { signal } = {}) {
      const sent = client.send(new DeleteObjectCommand(objectOf(key)), abortedBy(signal));
      // Some services have an error for a missing object.
      await named(sent.catch((error: unknown) => (isMissing(error) ? undefined : Promise.reject(error))));
    },
    ...(signUrls && {
      async url(key, { mediaType, expiresInMs }) {
        if (expiresInMs > MAX_URL_MS)
          invalid("url: expiresInMs must be at most 7 days; S3 signs for no longer");
        const { getSignedUrl } = await presigner();
        const command = new GetObjectCommand({ ...objectOf(key), ResponseContentType: mediaType });
        return await named(getSignedUrl(client, command, { expiresIn: Math.ceil(expiresInMs / 1_000) }));
      },
    }),
  };
}

async function presigner() {
  return await import("@aws-sdk/s3-request-presigner").catch((cause: unknown) => {
    throw new StoreError(
      "UNSUPPORTED",
      "createS3Blobs: signUrls needs a package; run: npm install @aws-sdk/s3-request-presigner",
      { cause },
    );
  });
}
