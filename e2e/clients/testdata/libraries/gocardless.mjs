import { verifySignature } from "gocardless-nodejs/webhooks";

export default {
  provider: "gocardless",
  secret: "the secret of the tests",
  verify: ({ body, headers }, secret) => verifySignature(body, secret, headers["webhook-signature"]),
};
