import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { inspect } from "node:util";
import { S3Client } from "@aws-sdk/client-s3";
import { describe, expect, test, vi } from "vitest";
import { createS3Blobs, type S3BlobOptions } from "../../src/blobs/s3.ts";

vi.mock("@aws-sdk/s3-request-presigner", () => {
  throw new Error("Cannot find package '@aws-sdk/s3-request-presigner'");
});

const key = "Abc-_0123456";
const content = new TextEncoder().encode("content");
const credentials = {
  accessKeyId: "suite",
  secretAccessKey: "suite-secret",
  sessionToken: "suite-token",
};
const clientOf = (endpoint: string) =>
  new S3Client({ endpoint, region: "eu-central-1", forcePathStyle: true, maxAttempts: 1, credentials });
const client = clientOf("http://127.0.0.1:1");

/** A storage whose service gives each request the same answer. */
async function answering(answer: (response: ServerResponse) => void) {
  const server = createServer((request, response) => {
    request.resume().on("end", () => answer(response));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const one = clientOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return {
    blobs: createS3Blobs({ client: one, bucket: "files" }),
    async [Symbol.asyncDispose]() {
      one.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** An error as S3 replies with it. */
const errorOf =
  (status: number, code: string, more = "") =>
  (response: ServerResponse) => {
    const xml = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>of the service</Message>${more}</Error>`;
    response.writeHead(status, { "content-type": "application/xml" }).end(xml);
  };

describe("an error of S3", () => {
  test.each<[string, (response: ServerResponse) => void, boolean, RegExp]>([
    ["throttling", errorOf(503, "SlowDown"), true, /^s3: bucket "files": requests are throttled$/],
    ["a failure", errorOf(500, "InternalError"), true, /^s3: bucket "files": the service failed to answer/],
    ["a timeout", errorOf(400, "RequestTimeout"), true, /^s3: could not reach .*timeout/],
    ["a lost connection", (response) => response.destroy(), true, /^s3: could not reach .*ECONNRESET/],
    ["no access", errorOf(403, "AccessDenied"), false, /^s3: bucket "files": access is denied; allow s3:Get/],
    ["a bucket elsewhere", errorOf(301, "PermanentRedirect"), false, /it is in another region/],
    ["no such bucket", errorOf(404, "NoSuchBucket"), false, /it does not exist; create it/],
    ["expired credentials", errorOf(400, "ExpiredToken"), false, /the credentials were rejected/],
    ["another refusal", errorOf(400, "KMS.DisabledException"), false, /refused \(KMS.DisabledException\)/],
  ])("tells whether a repetition may help: %s", async (_, answer, retryable, message) => {
    await using service = await answering(answer);
    const error = { code: "UNAVAILABLE", retryable, message: expect.stringMatching(message) };
    await expect(service.blobs.put(key, content)).rejects.toMatchObject(error);
    await expect(service.blobs.get(key)).rejects.toMatchObject(error);
    await expect(service.blobs.delete(key)).rejects.toMatchObject(error);
  });

  test("in the middle of a content is retryable", async () => {
    await using service = await answering((response) => {
      response.writeHead(200, { "content-length": "1000" });
      response.write("x", () => response.destroy());
    });
    await expect(service.blobs.get(key)).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true });
  });

  test("has nothing of the request, with its credentials", async () => {
    const signed = "<StringToSign>suite-token</StringToSign><CanonicalRequest>suite-token</CanonicalRequest>";
    await using service = await answering(errorOf(403, "SignatureDoesNotMatch", signed));
    const error = await service.blobs.get(key).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: false });
    const shown = inspect(error, { depth: 20, showHidden: true });
    expect(shown).toContain("SignatureDoesNotMatch");
    expect(shown).not.toMatch(/suite-(?:token|secret)/);
  });
});

test("a missing object of a service that has errors for it is deleted", async () => {
  await using service = await answering(errorOf(404, "NoSuchKey"));
  await service.blobs.delete(key);
  expect(await service.blobs.get(key)).toBeUndefined();
});

test("URLs need the package that signs them", async () => {
  const blobs = createS3Blobs({ client, bucket: "files", signUrls: true });
  const signing = blobs.url?.(key, { mediaType: "image/png", expiresInMs: 60_000 });
  await expect(signing).rejects.toMatchObject({
    code: "UNSUPPORTED",
    message: expect.stringContaining("npm install @aws-sdk/s3-request-presigner"),
  });
});

test.each<[unknown, string]>([
  [{ bucket: "files" }, "client must be an object with the methods send"],
  [{ client: {}, bucket: "files" }, "client must have the methods send"],
  [{ client, bucket: "" }, "bucket must be a non-empty string"],
  [{ client, bucket: "files", prefix: 1 }, "prefix must be a string"],
  [{ client, bucket: "files", signUrls: 1 }, "signUrls must be true or false"],
])("invalid options are errors: %#", (options, problem) => {
  expect(() => createS3Blobs(options as S3BlobOptions)).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT", message: `createS3Blobs: ${problem}` }),
  );
});
