// The whole of it takes seconds to load: thousands of files.
import { WebhooksClient } from "../node_modules/@elevenlabs/elevenlabs-js/wrapper/webhooks.js";

const webhooks = new WebhooksClient({});

export default {
  provider: "elevenlabs",
  secret: "wsec_of_the_tests_0123456789abcdef",
  verify: ({ body, headers }, secret) => webhooks.constructEvent(body, headers["elevenlabs-signature"], secret),
};
