import { WebhooksManager } from "box-node-sdk/lib/managers/webhooks";

export default {
  provider: "box",
  secret: "the primary key of the tests",
  verify: ({ body, headers }, primaryKey) => WebhooksManager.validateMessage(body, headers, primaryKey),
};
