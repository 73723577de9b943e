import Razorpay from "razorpay";

export default {
  provider: "razorpay",
  secret: "the secret of the tests",
  verify: ({ body, headers }, secret) => Razorpay.validateWebhookSignature(body, headers["x-razorpay-signature"], secret),
};
