import { signWebhookPayload, verifyWebhookSignature } from "@notionhq/client";

export default {
  provider: "notion",
  secret: "secret_of_the_tests_of_notion",
  sign: async ({ body }, verificationToken) => ({ headers: { "x-notion-signature": await signWebhookPayload({ body, verificationToken }) } }),
  verify: ({ body, headers }, verificationToken) =>
    verifyWebhookSignature({ body, signature: headers["x-notion-signature"], verificationToken }),
};
