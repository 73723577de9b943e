import { LinearWebhookClient } from "@linear/sdk/webhooks";

export default {
  provider: "linear",
  secret: "the secret of the tests",
  verify: ({ body, headers }, secret) => new LinearWebhookClient(secret).verify(Buffer.from(body), headers["linear-signature"]),
};
