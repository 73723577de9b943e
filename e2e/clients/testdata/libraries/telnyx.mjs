import { TelnyxWebhook } from "../node_modules/telnyx/lib/webhooks.js";

export default {
  provider: "telnyx",
  secret: "I7xUkSwebpLEqGglyGfif/3FVb/71CRPF6Jqv//ull0=",
  signingSecret: "whsk_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=",
  verify: ({ body, headers }, key) => new TelnyxWebhook(key).verify(body, headers),
};
