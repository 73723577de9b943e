import { EventWebhook } from "@sendgrid/eventwebhook";

const webhook = new EventWebhook();

export default {
  provider: "sendgrid",
  secret: "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEO75fRuu1apjzXFuVoYEjlRReTTfQp84znEzYnipUsQ8dZUOGCT186bzJt2r9m6mJN9BzqI8pJUm9LaKqc/JKvA==",
  signingSecret:
    "whsk_MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgKcBglzXBXhmAhn6iMT7XJ/Z5uRh2Ue2PW8lbZo2WxQ6hRANCAAQ7vl9G67VqmPNcW5WhgSOVFF5NN9CnzjOcTNieKlSxDx1lQ4YJPXzpvMm3av2bqYk30HOojyklSb0toqpz8kq8",
  verify: ({ body, headers }, secret) =>
    webhook.verifySignature(
      webhook.convertPublicKeyToECDSA(secret),
      body,
      headers["x-twilio-email-event-webhook-signature"],
      headers["x-twilio-email-event-webhook-timestamp"],
    ),
};
