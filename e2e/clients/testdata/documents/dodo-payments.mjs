import { eventsOf } from "../types.mjs";

export default {
  provider: "dodo-payments",
  events: () => eventsOf("dodopayments/resources/webhooks/webhooks.d.ts", "UnwrapWebhookEvent"),
  headers: (body, type, id) => ({ "webhook-id": id }),
  entity({ data }, type) {
    const [kind] = type.split(".");
    if (kind === "license_key" || kind === "entitlement_grant") return [kind, data.id];
    for (const name of [kind, "payment", "subscription"]) if (data[name + "_id"]) return [name, data[name + "_id"]];
    return ["customer", data.customer?.customer_id ?? data.customer_id];
  },
};
