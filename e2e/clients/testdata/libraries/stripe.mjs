import Stripe from "stripe";

export default {
  provider: "stripe",
  secret: "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
  sign: ({ body }, secret) => ({
    headers: { "stripe-signature": Stripe.webhooks.generateTestHeaderString({ payload: body, secret }) },
  }),
  verify: ({ body, headers }, secret) => Stripe.webhooks.constructEvent(body, headers["stripe-signature"], secret),
};
