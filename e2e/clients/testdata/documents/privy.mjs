import { eventsOf } from "../types.mjs";

const about = {
  user: ({ user, toUser }) => ["user", (user ?? toUser).id],
  mfa: ({ user_id }) => ["user", user_id],
  intent: ({ intent_id }) => ["intent", intent_id],
  transaction: ({ transaction_id }) => ["transaction", transaction_id],
  wallet: ({ wallet, wallet_id }) => ["wallet", wallet_id ?? wallet.id],
  wallet_action: ({ wallet_action_id }) => ["wallet_action", wallet_action_id],
};

export default {
  provider: "privy",
  events: () => eventsOf("@privy-io/node/resources/webhooks.d.ts", "WebhookPayload"),
  headers: (body, type, id) => ({ "svix-id": id }),
  nothing: /^(usage|user_operation|yield\.(deposit|withdraw))\./, // addresses and hashes of a chain
  entity: (body, type) => about[type.split(".")[0]]?.(body),
};
