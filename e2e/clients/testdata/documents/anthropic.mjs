import { eventsOf } from "../types.mjs";

export default {
  provider: "anthropic",
  events: () => eventsOf("@anthropic-ai/sdk/resources/beta/webhooks.d.ts", "BetaWebhookEventData"),
  wrap: (data) => ({ type: "event", id: "", created_at: "2026-11-29T12:00:00Z", data }),
  headers: (body, type, id) => ({ "webhook-id": id }),
  id: ["id"],
  entity: ({ data }, type) => [type.split(".")[0], data.id],
};
