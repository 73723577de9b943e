import { Webhook } from "standardwebhooks";

// The client secret is encoded for the library, as BigCommerce's documentation has it.
const webhook = (secret) => new Webhook(Buffer.from(secret).toString("base64"));

export default {
  provider: "bigcommerce",
  secret: "the client secret of the tests",
  sign: ({ body }, secret) => {
    const id = "msg_of_the_tests_" + Buffer.from(body).toString("base64url").slice(-40), at = new Date();
    return {
      headers: {
        "webhook-id": id,
        "webhook-timestamp": String(Math.floor(at / 1000)),
        "webhook-signature": webhook(secret).sign(id, at, body),
      },
    };
  },
  verify: ({ body, headers }, secret) => webhook(secret).verify(body, headers),
};
