import { PrivyClient } from "@privy-io/node";

const client = new PrivyClient({ appId: "of-the-tests", appSecret: "of the tests" });

export default {
  provider: "privy",
  secret: "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
  verify: ({ body, headers }, signing_secret) => client.webhooks().verify({ payload: body, headers, signing_secret }),
};
