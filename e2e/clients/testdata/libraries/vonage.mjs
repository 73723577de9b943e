import { createHash } from "node:crypto";
import { verifySignature } from "@vonage/jwt";

// The library leaves it to its user to compare the hash of the body.
export default {
  provider: "vonage",
  secret: "the signature secret of the tests",
  verify: ({ body, headers }, secret) => {
    const token = headers.authorization.replace("Bearer ", "");
    const { payload_hash } = JSON.parse(Buffer.from(token.split(".")[1], "base64url"));
    return verifySignature(token, secret) && payload_hash === createHash("sha256").update(body).digest("hex");
  },
};
