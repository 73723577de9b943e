// Reads the TypeScript types that a provider's library publishes as JSON Schemas of its event types. Most of these types are generated
// from the provider's OpenAPI document.
import { fileURLToPath } from "node:url";
import { createGenerator } from "ts-json-schema-generator";

const packages = fileURLToPath(new URL("node_modules/", import.meta.url));
const plain = (name) => decodeURIComponent(name).replace(/\W/g, "_");

// tidied has names of definitions that need no escaping, and integers: TypeScript has none, and most numbers of events are some.
const tidied = (schema) => JSON.parse(JSON.stringify(schema), (key, v) => {
  if (key === "$ref") return "#/definitions/" + plain(v.slice("#/definitions/".length));
  if (key === "definitions") return Object.fromEntries(Object.entries(v).map(([name, of]) => [plain(name), of]));
  return v?.type === "number" ? { ...v, type: "integer", minimum: 1 } : v;
});

// eventsOf returns {type, schema, set} for each member of a union, and for each name that a member can have at the path `named`.
// `within` finds the union in the type.
export function eventsOf(file, union, named = ["type"], within = (root) => root) {
  const made = createGenerator({ path: packages + file, type: union, skipTypeCheck: true, jsDoc: "none", expose: "all" }).createSchema(union);
  const { definitions, ...root } = tidied(made);
  const resolve = (s) => (s?.$ref ? resolve(definitions[s.$ref.slice("#/definitions/".length)]) : s);
  const members = (s) => (s.anyOf ?? s.oneOf)?.flatMap((m) => members(resolve(m))) ?? [s];
  const property = (s, [name, ...rest]) => {
    const found = resolve(resolve(s)?.properties?.[name]);
    return rest.length && found ? property(found, rest) : found;
  };
  const namesOf = (s) => s?.enum ?? (s?.const ? [s.const] : (s?.anyOf ?? []).flatMap((one) => namesOf(resolve(one))));
  return members(resolve(within(resolve(root)))).flatMap((member) =>
    namesOf(property(member, named)).map((type) => ({ type, schema: { ...member, definitions }, set: [[named, type]] })));
}
