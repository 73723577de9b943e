import Orb from "orb-billing";

const { webhooks } = new Orb({ apiKey: "of the tests" });

export default {
  provider: "orb",
  secret: "the webhook secret of the tests",
  sign: ({ body }, secret) => {
    const timestamp = new Date().toISOString().replace("Z", "000");
    return { headers: { "x-orb-timestamp": timestamp, "x-orb-signature": webhooks.signPayload(body, { timestamp, secret }) } };
  },
  verify: ({ body, headers }, secret) => webhooks.verifySignature(body, headers, secret),
};
