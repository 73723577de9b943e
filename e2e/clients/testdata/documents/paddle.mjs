import { eventsOf } from "../types.mjs";

export default {
  provider: "paddle",
  events: () => eventsOf("@paddle/paddle-node-sdk/dist/types/types/events/events-response.d.ts", "IEvents", ["event_type"]),
  id: ["event_id"],
  entity: ({ data }, type) => [type.split(".")[0], data.id],
};
