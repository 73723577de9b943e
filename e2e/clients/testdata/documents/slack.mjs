import { eventsOf } from "../types.mjs";

export default {
  provider: "slack",
  events: () => eventsOf("@slack/types/dist/events/index.d.ts", "SlackEvent"),
  wrap: (event) => ({ type: "event_callback", team_id: "T0SAMPLE", api_app_id: "A0SAMPLE", event_id: "", event_time: 1790000000, event }),
  id: ["event_id"],
  entity: ({ event: { channel } }) => (channel ? ["channel", channel.id ?? channel] : ["team", "T0SAMPLE"]),
};
