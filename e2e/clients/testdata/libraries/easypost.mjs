import EasyPost from "@easypost/api";

export default {
  provider: "easypost",
  secret: "the secret of the tests",
  verify: ({ body, headers }, secret) => new EasyPost("key of the tests").Utils.validateWebhook(Buffer.from(body), headers, secret),
};
