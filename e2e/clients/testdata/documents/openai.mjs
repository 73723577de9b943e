import { eventsOf } from "../types.mjs";

export default {
  provider: "openai",
  events: () => eventsOf("openai/resources/webhooks/webhooks.d.ts", "UnwrapWebhookEvent"),
  headers: (body, type, id) => ({ "webhook-id": id }),
  entity: ({ data }, type) => [type.split(".").slice(0, -1).join("_"), data.id ?? data.call_id ?? data.session_id],
};
