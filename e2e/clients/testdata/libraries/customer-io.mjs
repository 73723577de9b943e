import { verifyRequestSignature } from "customerio-node";

export default {
  provider: "customer-io",
  secret: "the signing key of the tests",
  verify: ({ body, headers }, signingSecret) =>
    verifyRequestSignature({
      signingSecret, body, timestamp: headers["x-cio-timestamp"], signature: headers["x-cio-signature"],
    }),
};
