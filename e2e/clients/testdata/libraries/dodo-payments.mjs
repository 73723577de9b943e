import DodoPayments from "dodopayments";

const { webhooks } = new DodoPayments({ bearerToken: "of the tests" });

export default {
  provider: "dodo-payments",
  secret: "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
  verify: ({ body, headers }, key) => webhooks.unwrap(body, { headers, key }),
};
