import Finch from "@tryfinch/finch-api";

const { webhooks } = new Finch({ accessToken: "of the tests" });

export default {
  provider: "finch",
  secret: "c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
  verify: ({ body, headers }, secret) => webhooks.verifySignature(body, headers, secret),
};
