import { readdirSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const typings = "@adyen/api-library/lib/src/typings/";

// The models, which are generated from Adyen's OpenAPI documents, list their fields with types such as Array<Amount> or Transfer.StatusEnum.
function schemaOf(models, type) {
  const [, item] = type.match(/^Array<(.*)>$/) ?? [];
  if (item) return { type: "array", items: schemaOf(models, item) };
  if (type === "Date") return { type: "string", format: "date-time" };
  if (type === "number") return { type: "integer", minimum: 1 };
  const [name, of] = type.replace(" | null", "").split(".");
  if (!models[name]) return { type: ["string", "boolean"].includes(type) ? type : "object" };
  if (of || !models[name].getAttributeTypeMap) return { enum: Object.values(of ? models[name][of] : models[name]) };
  return { $ref: "#/definitions/" + name };
}

function definitionsOf(models) {
  const classes = Object.entries(models).filter(([, model]) => model.getAttributeTypeMap);
  return Object.fromEntries(classes.map(([name, model]) => {
    const fields = model.getAttributeTypeMap().map(({ baseName, type }) => [baseName, schemaOf(models, type)]);
    return [name, { type: "object", properties: Object.fromEntries(fields), required: fields.map(([field]) => field) }];
  }));
}

function* events() {
  for (const folder of readdirSync(new URL("../node_modules/" + typings, import.meta.url)).filter((name) => name.endsWith("Webhooks"))) {
    const definitions = definitionsOf(require(`${typings}${folder}/models.js`));
    for (const [name, schema] of Object.entries(definitions)) {
      if (!name.endsWith("NotificationRequest")) continue;
      for (const type of schema.properties.type?.enum ?? []) yield { type, schema: { ...schema, definitions }, set: [[["type"], type]] };
    }
  }
}

const about = {
  transfer: ({ id }) => ["transfer", id],
  transaction: ({ id }) => ["transaction", id],
  accountHolder: ({ accountHolder }) => ["account_holder", accountHolder.id],
  balanceAccount: ({ balanceAccount, balanceAccountId }) => ["balance_account", balanceAccount?.id ?? balanceAccountId],
  paymentInstrument: ({ paymentInstrument }) => ["payment_instrument", paymentInstrument.id],
};

export default {
  provider: "adyen-platform",
  events,
  options: { refDepthMax: 6 },
  id: ["timestamp"], // most events have no other
  entity: ({ data }, type) => about[type.split(".")[1]]?.(data),
};
