import { isValidWebhookSignature } from "@fingerprint/node-sdk";

export default {
  provider: "fingerprint",
  secret: "the webhook key of the tests",
  verify: ({ body, headers }, secret) =>
    isValidWebhookSignature({ header: headers["fpjs-event-signature"], data: Buffer.from(body), secret }),
};
