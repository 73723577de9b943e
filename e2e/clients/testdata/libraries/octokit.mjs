import { Webhooks } from "@octokit/webhooks";

export default {
  provider: "github",
  secret: "the secret of the tests",
  sign: async ({ body }, secret) => ({ headers: { "x-hub-signature-256": await new Webhooks({ secret }).sign(body) } }),
  verify: ({ body, headers }, secret) => new Webhooks({ secret }).verify(body, headers["x-hub-signature-256"]),
};
