import type { Activity } from "@microsoft/agents-activity";
import type { Middleware } from "@microsoft/agents-hosting";
import { envelope, nameOf } from "@scrollback/collections";
import type { StoreFactory } from "@scrollback/store-core";

/** Each activity of a conversation is a message of its thread, stored before the turn continues. */
export function transcript(stores: StoreFactory): Middleware {
  return {
    async onTurn(context, next) {
      const { channelId = "", conversation } = context.activity;
      const names = [channelId, conversation?.id ?? ""].map(nameOf);
      const store = stores.open(`m365:transcript:${names.join(":")}`);
      const add = (role: "user" | "assistant", activities: readonly Activity[]) =>
        store.addMessages(activities.map((one) => envelope(role, JSON.parse(one.toJsonString()))));
      context.onSendActivities(async (_, replies, send) => {
        const responses = await send();
        await add("assistant", replies);
        return responses;
      });
      await add("user", [context.activity]);
      await next();
    },
  };
}
