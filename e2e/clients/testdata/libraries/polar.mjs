import { webhooks } from "@polar-sh/sdk/2026-10";

const secret = "polar_whs_of_the_tests_0123456789";

export default {
  provider: "polar",
  secret,
  verify: ({ body, headers }, webhookSecret) => webhooks.validateEvent(body, headers, webhookSecret),
};
