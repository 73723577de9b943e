import braintree from "braintree";

// The library takes the signature that was made for its own public key.
const gateway = (publicKey, privateKey) =>
  new braintree.BraintreeGateway({ environment: braintree.Environment.Sandbox, merchantId: "merchant_of_the_tests", publicKey, privateKey });

export default {
  provider: "braintree",
  secret: "the private key of the tests",
  verify: ({ body }, secret) => {
    const form = new URLSearchParams(body), signature = form.get("bt_signature");
    return gateway(signature.split("|")[0], secret).webhookNotification.parse(signature, form.get("bt_payload"));
  },
};
