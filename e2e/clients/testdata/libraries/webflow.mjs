// The whole of it takes seconds to load: thousands of files.
import { Client } from "../node_modules/webflow-api/wrapper/WebhooksClient.js";

const webhooks = new Client({});

export default {
  provider: "webflow",
  secret: "the client secret of the tests",
  verify: ({ body, headers }, secret) => webhooks.verifySignature({ headers, body, secret }),
};
