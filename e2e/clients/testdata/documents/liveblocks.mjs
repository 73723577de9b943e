import { eventsOf } from "../types.mjs";

export default {
  provider: "liveblocks",
  events: () => eventsOf("@liveblocks/node/dist/index.d.ts", "WebhookEvent"),
  headers: (body, type, id) => ({ "webhook-id": id }),
  entity: ({ data }) => ["room", data.roomId],
};
