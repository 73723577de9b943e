import { verifyKey } from "discord-interactions";

export default {
  provider: "discord",
  secret: "1d3ff0e448d7d8490758cdd3cf1aa8f80ed4b5d240239cb39fd39c84820e117d",
  signingSecret: "whsk_lN4tfwDZRvLcDetoCkCGyLwTzWinRvRT8TGkOZf+zOs=",
  verify: ({ body, headers }, secret) => verifyKey(body, headers["x-signature-ed25519"], headers["x-signature-timestamp"], secret),
};
