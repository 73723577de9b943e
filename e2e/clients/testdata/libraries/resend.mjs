import { Resend } from "resend";

export default {
  provider: "resend",
  secret: "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
  verify: ({ body, headers }, webhookSecret) =>
    new Resend("re_of_the_tests").webhooks.verify({
      payload: body,
      headers: { id: headers["svix-id"], timestamp: headers["svix-timestamp"], signature: headers["svix-signature"] },
      webhookSecret,
    }),
};
