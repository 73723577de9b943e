import Mux from "@mux/mux-node";

const { webhooks } = new Mux({ tokenId: "of the tests", tokenSecret: "of the tests" });

export default {
  provider: "mux",
  secret: "the signing secret of the tests",
  sign: async ({ body }, secret) => {
    const at = Math.floor(Date.now() / 1000);
    return { headers: { "mux-signature": `t=${at},v1=${await webhooks.computeSignature(`${at}.${body}`, secret)}` } };
  },
  verify: ({ body, headers }, secret) => webhooks.verifySignature(body, headers, secret),
};
