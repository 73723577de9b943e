import { Paddle } from "@paddle/paddle-node-sdk";

const { webhooks } = new Paddle("key of the tests");

export default {
  provider: "paddle",
  secret: "pdl_ntfset_01hwebhooks_ofTheTests",
  verify: ({ body, headers }, secret) => webhooks.isSignatureValid(body, secret, headers["paddle-signature"]),
};
