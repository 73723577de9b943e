import { eventsOf } from "../types.mjs";

export default {
  provider: "discord",
  events: () => eventsOf("discord-api-types/payloads/v10/webhook.d.ts", "APIWebhookEventBody"),
  wrap: (event) => ({ version: 1, application_id: "1234560123453231555", type: 1, event }),
  id: ["event", "timestamp"], // there is no other
  entity: ({ event: { data } }) => ["user", String(data.user?.id ?? data.user_id)],
};
