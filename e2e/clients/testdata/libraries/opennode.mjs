import { OpenNodeClient } from "../node_modules/opennode/dist/client.js";

// It signs the ID of the charge alone.
export default {
  provider: "opennode",
  secret: "the API key of the tests",
  covered: "charge-",
  verify: ({ body }, secret) => {
    const form = Object.fromEntries(new URLSearchParams(body));
    return new OpenNodeClient(secret, "dev").verifySignature(form);
  },
};
