import { X509Certificate } from "node:crypto";
import { Environment, SignedDataVerifier } from "@apple/app-store-server-library";

// Only Apple has certificates that lead to its root, so the root is that of the token.
const rootOf = (token) => {
  const { x5c } = JSON.parse(Buffer.from(token.split(".")[0], "base64url"));
  return new X509Certificate(Buffer.from(x5c.at(-1), "base64")).raw;
};

export default {
  provider: "app-store",
  secret: "com.example.orders",
  covered: "eyJ",
  verify: async ({ body }, secret) => {
    const { signedPayload } = JSON.parse(body);
    const verifier = new SignedDataVerifier([rootOf(signedPayload)], false, Environment.PRODUCTION, secret, 41234);
    const { data } = await verifier.verifyAndDecodeNotification(signedPayload);
    if (data?.signedTransactionInfo && data.environment !== Environment.PRODUCTION) throw new Error("another environment");
  },
};
