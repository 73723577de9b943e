import { signRequest, verifyRequest } from "@contentful/node-apps-toolkit";

const pathOf = (url) => new URL(url).pathname;

export default {
  provider: "contentful",
  secret: "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
  sign: ({ body, headers, url }, secret) => ({ headers: signRequest(secret, { method: "POST", path: pathOf(url), headers, body }, Date.now()) }),
  verify: ({ body, headers, url }, secret) => verifyRequest(secret, { method: "POST", path: pathOf(url), headers, body }, 300),
};
