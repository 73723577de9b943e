import Surge from "@surgeapi/node";

const { webhooks } = new Surge({ apiKey: "of the tests" });

export default {
  provider: "surge",
  secret: "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
  verify: ({ body, headers }, key) => webhooks.unwrap(body, { headers, key }),
};
