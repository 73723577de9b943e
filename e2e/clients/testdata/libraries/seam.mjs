import { SeamWebhook } from "@seamapi/webhook";

export default {
  provider: "seam",
  secret: "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
  verify: ({ body, headers }, secret) => new SeamWebhook(secret).verify(body, headers),
};
