import { eventsOf } from "../types.mjs";

export default {
  provider: "discord",
  events: () => eventsOf("discord-api-types/payloads/v10/webhook.d.ts", "APIWebhookEventBody"),
  wrap: (event) => ({ version: 1, application_id: "1234560123453231555", type: 1, event }),
  options: { refDepthMax: 8 }, // IDs are deep
  id: ["event", "timestamp"], // there is no other
  nothing: /^QUEST_USER_ENROLLMENT$/, // its data isn't published
  entity({ event: { data } }) {
    const id = data?.user?.id ?? data?.user_id;
    return id && ["user", String(id)];
  },
};
