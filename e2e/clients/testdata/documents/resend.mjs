import { eventsOf } from "../types.mjs";

export default {
  provider: "resend",
  events: () => eventsOf("resend/dist/index.d.mts", "WebhookEventPayload"),
  headers: (body, type, id) => ({ "svix-id": id }),
  nothing: /^contact\.topics\.updated$/, // only an address
  entity: ({ data }, type) => [type.split(".")[0], data.inbox_id ?? data.email_id ?? data.id],
};
