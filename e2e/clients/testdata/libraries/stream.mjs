import { StreamChat } from "stream-chat";

export default {
  provider: "stream",
  secret: "the API secret of the tests",
  verify: ({ body, headers }, secret) => new StreamChat("key of the tests", secret).verifyAndParseWebhook(Buffer.from(body), headers["x-signature"]),
};
