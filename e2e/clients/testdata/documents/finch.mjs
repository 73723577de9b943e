import { eventsOf } from "../types.mjs";

export default {
  provider: "finch",
  events: () => eventsOf("@tryfinch/finch-api/resources/webhooks.d.ts", "WebhookEvent", ["event_type"]),
  headers: (body, type, id) => ({ "finch-event-id": id }),
  entity: ({ connection_id }) => ["connection", connection_id],
};
