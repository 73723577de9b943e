import { WebhookEventVerifier } from "@onfido/api";

export default {
  provider: "onfido",
  secret: "the webhook token of the tests",
  verify: ({ body, headers }, secret) => new WebhookEventVerifier(secret).readPayload(body, headers["x-sha2-signature"]),
};
