import { signatureHelper } from "@kontent-ai/webhook-helper";

export default {
  provider: "kontent-ai",
  secret: "the secret of the tests",
  sign: ({ body }, secret) => ({ headers: { "x-kontent-ai-signature": signatureHelper.getHashFromString(body, secret) } }),
  verify: ({ body, headers }, secret) => signatureHelper.isValidSignatureFromString(body, secret, headers["x-kontent-ai-signature"]),
};
