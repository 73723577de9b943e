import Whop from "@whop/sdk";

const { webhooks } = new Whop({ apiKey: "of the tests" });

// The secret is encoded for the library, as Whop's documentation has it.
export default {
  provider: "whop",
  secret: "ws_of_the_tests_0123456789abcdef",
  verify: ({ body, headers }, secret) => webhooks.unwrap(body, { headers, key: Buffer.from(secret).toString("base64") }),
};
