import { validateWebhook } from "replicate";

export default {
  provider: "replicate",
  secret: "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
  verify: ({ body, headers }, secret) => validateWebhook({ headers, body }, secret),
};
