import { WorkOS } from "@workos-inc/node";

const { webhooks } = new WorkOS("sk_test_of_the_tests");

// The library takes the parsed body, and writes it anew before it signs.
export default {
  provider: "workos",
  secret: "the secret of the tests",
  sign: async ({ body }, secret) => {
    const at = Date.now();
    return { headers: { "workos-signature": `t=${at}, v1=${await webhooks.computeSignature(at, JSON.parse(body), secret)}` } };
  },
  verify: ({ body, headers }, secret) =>
    webhooks.verifyHeader({ payload: JSON.parse(body), sigHeader: headers["workos-signature"], secret }),
};
