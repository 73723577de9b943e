import { Webhook } from "standardwebhooks";

export default {
  provider: "standard-webhooks",
  secret: "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
  sign: ({ body, headers }, secret) => {
    const id = headers["webhook-id"], at = new Date();
    return {
      headers: {
        "webhook-timestamp": String(Math.floor(at / 1000)),
        "webhook-signature": new Webhook(secret).sign(id, at, body),
      },
    };
  },
  verify: ({ body, headers }, secret) => new Webhook(secret).verify(body, headers),
};
