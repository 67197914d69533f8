import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { JsonPlusSerializer, MemorySaver, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { createMemoryStores } from "@scrollback/store-core";
import { gzipCodec } from "@scrollback/store-core/codecs";
import { expect, test } from "vitest";
import { ScrollbackSaver } from "../src/index.ts";
import { configOf, listed, putValues } from "./checkpoints.ts";
import { tellStory } from "./story.ts";

const key = randomBytes(32);

/** Encrypts each value with another initialization vector, so that equal values have different bytes. */
class EncryptingSerde implements SerializerProtocol {
  readonly #serde = new JsonPlusSerializer();

  async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
    const [type, data] = await this.#serde.dumpsTyped(value);
    const iv = randomBytes(12);
    const cipher = createCipheriv("aes-256-gcm", key, iv);
    const encrypted = Buffer.concat([iv, cipher.update(data), cipher.final(), cipher.getAuthTag()]);
    return [`${type}+aes`, new Uint8Array(encrypted)];
  }

  async loadsTyped(type: string, stored: Uint8Array | string): Promise<unknown> {
    const data = Buffer.from(stored);
    const decipher = createDecipheriv("aes-256-gcm", key, data.subarray(0, 12));
    decipher.setAuthTag(data.subarray(-16));
    const plain = Buffer.concat([decipher.update(data.subarray(12, -16)), decipher.final()]);
    return await this.#serde.loadsTyped(type.replace("+aes", ""), new Uint8Array(plain));
  }
}

/** Compressed stores, with a serializer that encrypts. */
function open() {
  const stores = createMemoryStores({ codec: gzipCodec() });
  return () => new ScrollbackSaver({ stores, serde: new EncryptingSerde() });
}

test("a story with a codec and a serializer that encrypts equals LangGraph's own", async () => {
  const own = new MemorySaver();
  expect(await tellStory(open(), "async")).toEqual(await tellStory(() => own, "async"));
});

test("a thread with both stays exact when it is pruned", async () => {
  const connect = open();
  const values = (n: number) => ({ n, text: '"grows" 😀 '.repeat(n * 10), same: "x".repeat(3_000) });
  let config = configOf();
  for (let n = 10; n < 30; n++) {
    const versions = { n, text: n, ...(n === 10 && { same: 1 }) };
    config = await putValues(connect(), config, `${n}`, values(n), versions);
    await connect().putWrites(config, [["n", n + 1]], "task");
  }
  const before = await listed(connect().list(configOf()));
  expect(before.map(({ checkpoint }) => checkpoint.channel_values)).toEqual(
    Array.from({ length: 20 }, (_, place) => values(29 - place)),
  );
  expect(await connect().prune({ threadId: "t", keep: 5 })).toBe(15);
  expect(await listed(connect().list(configOf()))).toEqual(before.slice(0, 5));
  config = await putValues(connect(), config, "30", values(30), { n: 30, text: 30 });
  expect((await connect().getTuple(config))?.checkpoint.channel_values).toEqual(values(30));
});
