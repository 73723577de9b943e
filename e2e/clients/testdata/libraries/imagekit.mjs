import ImageKit from "@imagekit/nodejs";

const { webhooks } = new ImageKit({ privateKey: "of the tests" });

export default {
  provider: "imagekit",
  secret: "whsec_of_the_tests_0123456789abcdef",
  verify: ({ body, headers }, key) => webhooks.unwrap(body, { headers, key }),
};
