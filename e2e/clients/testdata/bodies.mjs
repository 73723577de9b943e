// Generates events of every type from what a provider publishes about them, and prints
// {provider, bodies: [{type, first, second, entity, nothing}]}. The two events of a type differ only in their ID; entity is the kind and
// the ID of the entity that they are about, and nothing means that they name none. The argument names a file in documents.
import { generate } from "json-schema-faker";

const options = { seed: 1, alwaysFakeOptionals: true, minItems: 1, maxItems: 1, minLength: 1, maxLength: 12, refDepthMax: 3 };
const at = (value, path) => path.reduce((v, name) => v?.[name], value);

function put(value, path, to) {
  at(value, path.slice(0, -1))[path.at(-1)] = to;
}

// A document names the field or the header that has the ID.
function request(document, body, type, id) {
  const copy = structuredClone(body);
  if (document.id) put(copy, typeof document.id === "function" ? document.id(copy) : document.id, id);
  return { headers: { "content-type": "application/json", ...document.headers?.(copy, type, id) }, body: JSON.stringify(copy) };
}

async function* bodiesOf(document) {
  for (const { type, schema, set = [] } of await document.events()) {
    const made = await generate(schema, { ...options, ...document.options });
    for (const [path, value] of set) put(made, path, value);
    const body = document.wrap?.(made, type) ?? made;
    const [first, second] = ["c1", "c2"].map((id) => request(document, body, type, id));
    const nothing = !!document.nothing?.test(type);
    yield { type, first, second, nothing, entity: nothing ? undefined : document.entity(JSON.parse(first.body), type) };
  }
}

const { default: document } = await import(`./documents/${process.argv[2]}.mjs`);
const bodies = [];
for await (const body of bodiesOf(document)) bodies.push(body);
process.stdout.write(JSON.stringify({ provider: document.provider, bodies }));
