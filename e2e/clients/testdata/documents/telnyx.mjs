import { eventsOf } from "../types.mjs";

export default {
  provider: "telnyx",
  events: () => eventsOf("telnyx/resources/webhooks.d.ts", "UnwrapWebhookEvent", ["data", "event_type"]),
  id: ["data", "id"],
  entity: ({ data: { payload } }, type) => [type.split(".")[0], payload.id ?? payload.call_leg_id ?? payload.fax_id],
};
