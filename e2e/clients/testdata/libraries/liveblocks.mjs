import { WebhookHandler } from "@liveblocks/node";

export default {
  provider: "liveblocks",
  secret: "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
  verify: ({ body, headers }, secret) => new WebhookHandler(secret).verifyRequest({ headers, rawBody: body }),
};
