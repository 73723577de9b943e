import { Webhook } from "svix";

export default {
  provider: "svix",
  secret: "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
  sign: ({ body, headers }, secret) => {
    const id = headers["svix-id"], at = new Date();
    return {
      headers: {
        "svix-timestamp": String(Math.floor(at / 1000)),
        "svix-signature": new Webhook(secret).sign(id, at, body),
      },
    };
  },
  verify: ({ body, headers }, secret) => new Webhook(secret).verify(body, headers),
};
