import { eventsOf } from "../types.mjs";

export default {
  provider: "linear",
  events: () => eventsOf("@linear/sdk/dist/webhooks/index.d.mts", "LinearWebhookPayload")
    .map(({ type, ...event }) => ({ type: type + ".create", ...event, set: [...event.set, [["action"], "create"]] })),
  id: ["createdAt"], // there is no other
  nothing: /^(OAuthApp|AppUserNotification|PermissionChange|AgentSessionEvent)\./,
  entity: ({ data, type }) => data && [type, data.id],
};
