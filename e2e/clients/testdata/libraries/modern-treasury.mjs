import ModernTreasury from "modern-treasury";

const { webhooks } = new ModernTreasury({ apiKey: "of the tests", organizationID: "of the tests" });

export default {
  provider: "modern-treasury",
  secret: "the webhook key of the tests",
  sign: ({ body }, key) => ({ headers: { "x-signature": webhooks.getSignature(body, { key }) } }),
  verify: ({ body, headers }, key) => webhooks.validateSignature(body, headers, { key }),
};
