import { eventsOf } from "../types.mjs";

export default {
  provider: "imagekit",
  events: () => eventsOf("@imagekit/nodejs/resources/webhooks.d.ts", "UnwrapWebhookEvent", ["type"]),
  headers: (body, type, id) => ({ "webhook-id": id }),
  id: ["id"],
  entity: ({ data }) => (data.asset ? ["asset", data.asset.url] : ["file", data.fileId ?? data.file_id]),
};
