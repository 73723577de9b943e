import { eventsOf } from "../types.mjs";

export default {
  provider: "surge",
  events: () => eventsOf("@surgeapi/node/resources/webhooks.d.ts", "UnwrapWebhookEvent"),
  headers: (body, type, id) => ({ "webhook-id": id }),
  entity: ({ data }, type) => [type.split(".")[0], data.id],
};
