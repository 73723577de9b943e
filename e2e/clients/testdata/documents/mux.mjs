import { eventsOf } from "../types.mjs";

export default {
  provider: "mux",
  events: () => eventsOf("@mux/mux-node/resources/webhooks/webhooks.d.ts", "UnwrapWebhookEvent"),
  id: ["id"],
  entity: ({ object }) => [object.type, object.id],
};
