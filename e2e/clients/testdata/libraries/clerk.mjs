import { verifyWebhook } from "@clerk/backend/webhooks";

export default {
  provider: "clerk",
  secret: "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
  verify: ({ body, headers, url }, signingSecret) =>
    verifyWebhook(new Request(url ?? "https://hooks.example.com", { method: "POST", headers, body }), { signingSecret }),
};
