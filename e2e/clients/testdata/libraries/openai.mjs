import OpenAI from "openai";

const { webhooks } = new OpenAI({ apiKey: "sk-of-the-tests" });

export default {
  provider: "openai",
  secret: "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
  verify: ({ body, headers }, secret) => webhooks.unwrap(body, headers, secret),
};
