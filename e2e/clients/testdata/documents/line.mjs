import { eventsOf } from "../types.mjs";

export default {
  provider: "line",
  events: () => eventsOf("@line/bot-sdk/dist/webhook/model/callbackRequest.d.ts", "CallbackRequest", ["type"],
    ({ properties }) => properties.events.items),
  wrap: (event) => ({ destination: "U0SAMPLE", events: [{ ...event, source: { type: "user", userId: "U1SAMPLE" } }] }),
  id: ["events", 0, "webhookEventId"],
  entity: () => ["user", "U1SAMPLE"],
};
