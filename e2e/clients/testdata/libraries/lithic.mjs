import Lithic from "lithic";

const { webhooks } = new Lithic({ apiKey: "of the tests" });

export default {
  provider: "lithic",
  secret: "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
  verify: ({ body, headers }, secret) => webhooks.unwrap(body, headers, secret),
};
