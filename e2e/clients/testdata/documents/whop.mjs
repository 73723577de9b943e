import { eventsOf } from "../types.mjs";

export default {
  provider: "whop",
  events: () => eventsOf("@whop/sdk/resources/webhooks.d.ts", "UnwrapWebhookEvent"),
  headers: (body, type, id) => ({ "webhook-id": id }),
  entity: ({ data, company_id }, type) => (data.id ? [type.split(".")[0], data.id] : ["company", company_id]),
};
