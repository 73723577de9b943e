import autohook from "twitter-autohook";

export default {
  provider: "x",
  secret: "the consumer secret of the tests",
  verify: ({ body, headers }, consumer_secret) => autohook.validateSignature(headers, { consumer_secret }, body),
};
