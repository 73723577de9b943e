import { validateV3Signature } from "../node_modules/plivo/dist/utils/v3Security.js";

export default {
  provider: "plivo",
  secret: "the auth token of the tests",
  verify: ({ body, headers, url }, secret) =>
    validateV3Signature(
      "POST", url, headers["x-plivo-signature-v3-nonce"], secret, headers["x-plivo-signature-v3"], Object.fromEntries(new URLSearchParams(body)),
    ),
};
