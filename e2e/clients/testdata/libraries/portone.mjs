import { verify } from "@portone/server-sdk/webhook";

export default {
  provider: "portone",
  secret: "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
  verify: ({ body, headers }, secret) => verify(secret, body, headers),
};
