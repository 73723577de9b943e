import { Webhooks } from "../node_modules/@unit-finance/unit-node-sdk/dist/resources/webhooks.js";

const webhooks = new Webhooks("token of the tests", "https://api.s.unit.sh");

// The library takes the parsed body, and writes it anew before it signs.
export default {
  provider: "unit",
  secret: "the webhook token of the tests",
  verify: ({ body, headers }, secret) => webhooks.verify(headers["x-unit-signature"], secret, JSON.parse(body)),
};
