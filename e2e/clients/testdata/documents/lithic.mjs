import { eventsOf } from "../types.mjs";

export default {
  provider: "lithic",
  events: () => eventsOf("lithic/resources/webhooks.d.ts", "ParsedWebhookEvent", ["event_type"]),
  headers: (body, type, id) => ({ "webhook-id": id }),
  // Requests for a decision and reports have neither a card's token nor one of their own that lasts.
  nothing: /^(card_authorization\.(approval_request|challenge)|auth_rules\..*|balance\..*|settlement_report\..*|three_ds_authentication\.challenge)$/,
  entity(body, type) {
    const [kind] = type.split("."), isWhole = /^(claim_document|dispute_evidence|account_holder)\.|\.(created|updated)$/.test(type);
    const token = kind === "account_holder" ? body.token ?? body.account_holder_token : body.token;
    if (kind !== "card" && isWhole && token) return [kind, token];
    return body.card_token && ["card", body.card_token];
  },
};
