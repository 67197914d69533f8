import { readFileSync } from "node:fs";
import type { CreateTableCommandInput } from "@aws-sdk/client-dynamodb";

const page = readFileSync(new URL("../../../docs/reference/store-dynamo.md", import.meta.url), "utf8");

function blocks(language: string): string[] {
  return [...page.matchAll(/^```(\w+)\n(.*?)^```/gms)]
    .filter((match) => match[1] === language)
    .map((match) => match[2] ?? "");
}

const json = blocks("json").map((block) => JSON.parse(block));

interface TableResource {
  readonly Properties: CreateTableCommandInput & {
    readonly TimeToLiveSpecification: { readonly AttributeName: string; readonly Enabled: boolean };
  };
}

interface Template {
  readonly Resources: { readonly Chats: TableResource; readonly Entries: TableResource };
}

/** The table definitions in the documentation, for CloudFormation. */
export const template: Template = json.find((block) => "Resources" in block);

interface Statement {
  readonly Sid: string;
  readonly Action: string[];
  readonly Resource: string | string[];
}

const statements: readonly Statement[] = json.find((block) => "Statement" in block).Statement;

/** The permissions of the documented policy, by the name of their statement. */
export const policy: Readonly<Record<string, string[]>> = Object.fromEntries(
  statements.map(({ Sid, Action }) => [Sid, Action.map((action) => action.replace("dynamodb:", ""))]),
);

/** The resource of the permissions. */
export const resources: Readonly<Record<string, string[]>> = Object.fromEntries(
  statements.map(({ Sid, Resource }) => [Sid, [Resource].flat()]),
);
