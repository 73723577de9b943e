import Stripe from "stripe";

export default {
  provider: "stripe",
  secret: "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
  sign: ({ body }, secret) => ({
    headers: { "stripe-signature": Stripe.webhooks.generateTestHeaderString({ payload: body, secret }) },
  }),
  verify: ({ body, headers }, secret) =>
    JSON.parse(body).object === "v2.core.event"
      ? new Stripe("sk_test_unused").parseEventNotification(body, headers["stripe-signature"], secret)
      : Stripe.webhooks.constructEvent(body, headers["stripe-signature"], secret),
};
