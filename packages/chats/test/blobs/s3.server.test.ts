import { randomUUID } from "node:crypto";
import { CreateBucketCommand, DeleteObjectCommand, ListObjectsV2Command, S3Client } from "@aws-sdk/client-s3";
import { sharedServer } from "@scrollback/conformance/servers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkedBlobs } from "../../src/blobs/checked-blobs.ts";
import { createS3Blobs } from "../../src/blobs/s3.ts";
import { runBlobContract } from "./contract.ts";

const bucket = `test-${randomUUID()}`;
const key = "Abc-_0123456";
const content = new TextEncoder().encode("content");
const clientOf = (endpoint: string) =>
  new S3Client({
    ...{ endpoint, region: "eu-central-1", forcePathStyle: true, maxAttempts: 1 },
    // gofakes3 has the checksum of the whole object in its answer to a range.
    responseChecksumValidation: "WHEN_REQUIRED",
    credentials: { accessKeyId: "suite", secretAccessKey: "suite-secret", sessionToken: "suite-token" },
  });

let client: S3Client;
beforeAll(async () => {
  client = clientOf((await sharedServer("s3")).url);
  await client.send(new CreateBucketCommand({ Bucket: bucket }));
});
afterAll(() => client.destroy());

const keysOf = async (prefix: string) => {
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: prefix }));
  return Contents.map(({ Key = "" }) => Key);
};

runBlobContract("S3", async () => {
  const blobs = createS3Blobs({ client, bucket, prefix: "contract/" });
  return {
    storage: checkedBlobs(blobs),
    options: { blobs },
    count: async () => (await keysOf("contract/")).length,
  };
});

describe("a bucket of files", () => {
  test("has objects with the prefix", async () => {
    const blobs = createS3Blobs({ client, bucket, prefix: "prefix/" });
    await blobs.put(key, content);
    expect(await keysOf("prefix/")).toEqual([`prefix/${key}`]);
    await client.send(new DeleteObjectCommand({ Bucket: bucket, Key: `prefix/${key}` }));
    expect(await blobs.get(key)).toBeUndefined();
  });

  test("has URLs, if it is to sign them", async () => {
    expect(createS3Blobs({ client, bucket }).url).toBeUndefined();
    const blobs = createS3Blobs({ client, bucket, signUrls: true });
    await blobs.put(key, content);
    const url = (await blobs.url?.(key, { mediaType: "image/png", expiresInMs: 90_500 })) ?? "";
    expect(Object.fromEntries(new URL(url).searchParams)).toMatchObject({
      "X-Amz-Expires": "91",
      "response-content-type": "image/png",
    });
    const response = await fetch(url);
    expect(await response.text()).toBe("content");
    const late = blobs.url?.(key, { mediaType: "image/png", expiresInMs: 8 * 86_400_000 });
    await expect(late).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("that does not exist is an error with its name", async () => {
    const blobs = createS3Blobs({ client, bucket: "missing-bucket" });
    const error = {
      code: "UNAVAILABLE",
      retryable: false,
      message: expect.stringMatching(/^s3: bucket "missing-bucket": it does not exist; create it/),
    };
    await expect(blobs.put(key, content)).rejects.toMatchObject(error);
    await expect(blobs.get(key)).rejects.toMatchObject(error);
    await expect(blobs.delete(key)).rejects.toMatchObject(error);
  });
});
