import { eventsOf } from "../types.mjs";

export default {
  provider: "lithic",
  events: () => eventsOf("lithic/resources/webhooks.d.ts", "ParsedWebhookEvent", ["event_type"]),
  headers: (body, type, id) => ({ "webhook-id": id }),
  entity: (body, type) => [type.split(".")[0], body.token],
};
