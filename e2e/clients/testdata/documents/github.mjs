import api from "@octokit/openapi-webhooks/generated/api.github.com.json" with { type: "json" };

// Bodies have values where null is allowed, too: a field may tell what the event is.
const isNull = ({ type }) => type === "null";
const { webhooks, components } = JSON.parse(JSON.stringify(api), (key, v) => {
  if (key === "type" && Array.isArray(v)) return v.find((type) => type !== "null");
  if (key === "anyOf" || key === "oneOf") return v.filter((one) => !isNull(one));
  return v;
});
const inSchemas = /^#\/components\/schemas\//;

// The operation is named EVENT/ACTION, or EVENT alone. Of the body each field is there, and of these what is required.
function* events() {
  for (const { post } of Object.values(webhooks)) {
    const { $ref } = post.requestBody.content["application/json"].schema;
    const schema = components.schemas[$ref.replace(inSchemas, "")];
    const type = post.operationId.replace("/", ".").replaceAll("-", "_");
    const fields = schema.properties ?? {};
    const set = fields.action ? [[["action"], type.slice(type.indexOf(".") + 1)]] : [];
    yield { type, schema: { ...schema, required: Object.keys(fields), components }, set };
  }
}

// What an event of this name is about, best first.
const about = ["pull_request", "issue", "release", "workflow_run", "repository", "installation", "organization"];

export default {
  provider: "github",
  events,
  options: { alwaysFakeOptionals: false, optionalsProbability: 0, minItems: 0 }, // with all of them bodies have megabytes
  headers: (body, type, id) => ({ "x-github-event": type.split(".")[0], "x-github-delivery": id }),
  nothing: /^github_app_authorization\./, // the sender alone
  entity: (body) => { const kind = about.find((name) => body[name]?.id); return kind && [kind, String(body[kind].id)]; },
};
