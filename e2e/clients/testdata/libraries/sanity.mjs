import { assertValidSignature, encodeSignatureHeader } from "@sanity/webhook";

export default {
  provider: "sanity",
  secret: "the secret of the tests",
  sign: async ({ body }, secret) => ({ headers: { "sanity-webhook-signature": await encodeSignatureHeader(body, Date.now(), secret) } }),
  verify: ({ body, headers }, secret) => assertValidSignature(body, headers["sanity-webhook-signature"], secret),
};
