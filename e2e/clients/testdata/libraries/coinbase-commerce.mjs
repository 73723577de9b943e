import coinbase from "coinbase-commerce-node";

const { Webhook } = coinbase;

export default {
  provider: "coinbase-commerce",
  secret: "the shared secret of the tests",
  sign: ({ body }, secret) => ({ headers: { "x-cc-webhook-signature": Webhook.computeSignature(body, secret) } }),
  verify: ({ body, headers }, secret) => Webhook.verifyEventBody(body, headers["x-cc-webhook-signature"], secret),
};
