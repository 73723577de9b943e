import adyen from "@adyen/api-library";

const validator = new adyen.hmacValidator();

export default {
  provider: "adyen-platform",
  secret: "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056",
  sign: ({ body }, secret) => ({ headers: { hmacsignature: validator.calculateHmac(body, secret) } }),
  verify: ({ body, headers }, secret) => validator.validateHMACSignature(secret, headers.hmacsignature, body),
};
