import { eventsOf } from "../types.mjs";

export default {
  provider: "imagekit",
  events: () => eventsOf("@imagekit/nodejs/resources/webhooks.d.ts", "UnwrapWebhookEvent"),
  headers: (body, type, id) => ({ "webhook-id": id }),
  id: ["id"],
  nothing: /^upload\.pre-transform\.error$/, // there is no file
  entity({ data }) {
    if (data.asset) return ["asset", data.asset.url];
    return (data.fileId || data.file_id) && ["file", data.fileId ?? data.file_id];
  },
};
