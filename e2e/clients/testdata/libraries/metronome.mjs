import Metronome from "@metronome/sdk";

const { webhooks } = new Metronome({ bearerToken: "of the tests" });

export default {
  provider: "metronome",
  secret: "the webhook secret of the tests",
  sign: ({ body }, secret) => {
    const date = new Date().toUTCString();
    return { headers: { "x-metronome-date": date, "metronome-webhook-signature": webhooks.signPayload(body, { date, secret }) } };
  },
  verify: ({ body, headers }, secret) => webhooks.verifySignature(body, headers, secret),
};
