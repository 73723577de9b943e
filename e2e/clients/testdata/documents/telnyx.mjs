import { eventsOf } from "../types.mjs";

export default {
  provider: "telnyx",
  events: () => eventsOf("telnyx/resources/webhooks.d.ts", "UnwrapWebhookEvent", ["data", "event_type"]),
  id: ["data", "id"],
  nothing: /^messaging_hosted_numbers_orders\./,
  entity({ data: { payload } }, type) {
    if (/^(message|number_order)\./.test(type)) return [type.split(".")[0], payload.id];
    if (payload.fax_id) return ["fax", payload.fax_id];
    if (payload.waba_id) return ["whatsapp_account", payload.waba_id];
    return payload.conference_id ? ["conference", payload.conference_id] : payload.call_leg_id && ["call", payload.call_leg_id];
  },
};
