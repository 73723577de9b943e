import { eventsOf } from "../types.mjs";

export default {
  provider: "dodo-payments",
  events: () => eventsOf("dodopayments/resources/webhooks/webhooks.d.ts", "UnwrapWebhookEvent", ["type"]),
  headers: (body, type, id) => ({ "webhook-id": id }),
  entity: ({ data }, type) => { const kind = type.split(".")[0]; return [kind, data[kind + "_id"] ?? data.id]; },
};
