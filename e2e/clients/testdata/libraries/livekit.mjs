import { createHash } from "node:crypto";
import { AccessToken, WebhookReceiver } from "livekit-server-sdk";

export default {
  provider: "livekit",
  secret: "the API secret of the tests 0123456789",
  sign: async ({ body }, secret) => {
    const token = new AccessToken("key of the tests", secret, { ttl: 600 });
    token.sha256 = createHash("sha256").update(body).digest("base64");
    return { headers: { authorization: await token.toJwt() } };
  },
  // The issuer is the key's name, which Holdfast doesn't have.
  verify: ({ body, headers }, secret) => new WebhookReceiver(undefined, secret).receive(body, headers.authorization),
};
