import { Cashfree, CFEnvironment } from "cashfree-pg";

export default {
  provider: "cashfree",
  secret: "the client secret of the tests",
  verify: ({ body, headers }, secret) =>
    new Cashfree(CFEnvironment.SANDBOX, "of the tests", secret, undefined, undefined, undefined, false).PGVerifyWebhookSignature(
      headers["x-webhook-signature"], body, headers["x-webhook-timestamp"],
    ),
};
