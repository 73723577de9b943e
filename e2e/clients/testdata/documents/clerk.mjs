import { eventsOf } from "../types.mjs";

export default {
  provider: "clerk",
  events: () => eventsOf("@clerk/backend/dist/api/resources/Webhooks.d.ts", "WebhookEvent"),
  headers: (body, type, id) => ({ "svix-id": id }),
  entity: ({ data }) => [data.object, data.id],
};
