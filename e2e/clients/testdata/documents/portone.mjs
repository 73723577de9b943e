import { eventsOf } from "../types.mjs";

export default {
  provider: "portone",
  events: () => eventsOf("@portone/server-sdk/dist/generated/webhook/Webhook.d.ts", "Webhook"),
  headers: (body, type, id) => ({ "webhook-id": id }),
  entity: ({ data }, type) => (type.startsWith("BillingKey.") ? ["billing_key", data.billingKey] : ["payment", data.paymentId]),
};
