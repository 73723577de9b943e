import { Signature } from "@hubspot/api-client";

export default {
  provider: "hubspot",
  secret: "the client secret of the tests",
  verify: ({ body, headers, url }, clientSecret) =>
    Signature.isValid({
      signatureVersion: "v3", method: "POST", clientSecret, requestBody: body, url,
      signature: headers["x-hubspot-signature-v3"], timestamp: Number(headers["x-hubspot-request-timestamp"]),
    }),
};
