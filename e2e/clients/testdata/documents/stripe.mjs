import { readFileSync } from "node:fs";

// Stripe's OpenAPI document with its events is in the module of stripe-mock, its server for tests.
function* events() {
  const { components } = JSON.parse(readFileSync(process.env.STRIPE_OPENAPI, "utf8"));
  const { event } = components.schemas;
  for (const schema of Object.values(components.schemas)) {
    const type = schema["x-stripeEvent"]?.type;
    if (!type) continue;
    yield { type, schema: { ...event, properties: { ...event.properties, data: schema }, components }, set: [[["type"], type]] };
  }
}

export default {
  provider: "stripe",
  events,
  options: { alwaysFakeOptionals: false, optionalsProbability: 0, minItems: 0 }, // with all of them bodies have megabytes
  nothing: /^(balance\.available|balance_settings\.updated|tax\.settings\.updated)$/, // an account has one of them
  id: ["id"],
  entity: ({ data: { object } }) => object.id && [object.object, object.id],
};
