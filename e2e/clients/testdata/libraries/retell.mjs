import { Retell } from "retell-sdk";

export default {
  provider: "retell",
  secret: "key_0123456789abcdef0123456789ab",
  sign: async ({ body }, secret) => ({ headers: { "x-retell-signature": await Retell.sign(body, secret) } }),
  verify: ({ body, headers }, secret) => Retell.verify(body, secret, headers["x-retell-signature"]),
};
