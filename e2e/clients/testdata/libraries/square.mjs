// The whole of it takes seconds to load: thousands of files.
import helper from "../node_modules/square/wrapper/WebhooksHelper.js";

export default {
  provider: "square",
  secret: "the signature key of the tests",
  verify: ({ body, headers, url }, signatureKey) =>
    helper.WebhooksHelper.verifySignature({
      requestBody: body, signatureHeader: headers["x-square-hmacsha256-signature"], signatureKey, notificationUrl: url,
    }),
};
