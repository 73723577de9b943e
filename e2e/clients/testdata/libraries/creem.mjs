import { verifyWebhookSignature } from "creem/webhooks";

export default {
  provider: "creem",
  secret: "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
  verify: ({ body, headers }, secret) => verifyWebhookSignature(body, headers, secret),
};
