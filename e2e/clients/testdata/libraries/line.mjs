import { validateSignature } from "@line/bot-sdk";

export default {
  provider: "line",
  secret: "the secret of the tests",
  verify: ({ body, headers }, secret) => validateSignature(body, secret, headers["x-line-signature"]),
};
