import Anthropic from "@anthropic-ai/sdk";

const { webhooks } = new Anthropic({ apiKey: "sk-of-the-tests" }).beta;

export default {
  provider: "anthropic",
  secret: "whsec_c2lnbmluZyBrZXkgb2YgdGhlIHRlc3Rz",
  verify: ({ body, headers }, key) => webhooks.unwrap(body, { headers, key }),
};
