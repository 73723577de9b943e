// The whole of it takes seconds to load.
import { verifySlackRequest } from "../node_modules/@slack/bolt/dist/receivers/verify-request.js";

export default {
  provider: "slack",
  secret: "8f742231b10e8888abcd99yyyzzz85a5",
  verify: ({ body, headers }, signingSecret) => verifySlackRequest({ body, headers, signingSecret }),
};
