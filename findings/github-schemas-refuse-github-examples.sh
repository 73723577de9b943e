#!/usr/bin/env bash
# GitHub: of the webhook examples that octokit publishes, one in six isn't valid by the JSON Schema that octokit publishes beside them,
# and of those of Enterprise Server 3.5 only one in fourteen is.
#
# Versions: @octokit/webhooks-examples 7.6.1 (recorded deliveries), @octokit/webhooks-schemas 7.6.1, ajv 8.20.0, Node 20.
# Guess:    all examples of api.github.com are valid, and most of Enterprise: the packages come from one repository, with one version.
# Seen:     53 of 329 are refused, and 116 of 125 of Enterprise Server 3.5. The schemas require each field that deliveries had when they
#           were written: most lack one of the repository (custom_properties, is_template, topics, visibility,
#           web_commit_signoff_required); others have an action, a state or a null that the schema doesn't know.
# Hurts:    receivers that check deliveries against the schemas before they store them: real events are refused, and GitHub doesn't send
#           them again by itself. Types generated from them call the same fields certain. Store first, then check.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
npm install --silent --no-audit --no-fund --ignore-scripts \
	@octokit/webhooks-examples@7.6.1 @octokit/webhooks-schemas@7.6.1 ajv@8.20.0 ajv-formats@3.0.1 >/dev/null
cat >main.js <<'JS'
const Ajv = require("ajv");
const formats = require("ajv-formats");

const ajv = new Ajv({ strict: false, allErrors: true });
formats(ajv);
ajv.addSchema(require("@octokit/webhooks-schemas/schema.json"), "github");

const added = ["custom_properties", "is_template", "topics", "visibility", "web_commit_signoff_required"];
for (const from of ["api.github.com", "ghes-35", "ghes-31"]) {
  let [all, refused, repository, unknown] = [0, 0, 0, new Set()];
  for (const { name, examples } of require(`@octokit/webhooks-examples/${from}/index.json`)) {
    const event = ["_", "$"].map((c) => ajv.getSchema(`github#/definitions/${name}${c}event`)).find((schema) => schema);
    for (const example of examples) {
      all++;
      if (!event) unknown.add(name);
      if (!event || event(example)) continue;
      refused++;
      // The schema of an event is the choice of its actions: the errors of the example's own action say what is wrong.
      const own = (example.action && ajv.getSchema(`github#/definitions/${name}$${example.action}`)) || event;
      own(example);
      if ((own.errors ?? []).some((e) => added.includes(e.params.missingProperty))) repository++;
    }
  }
  const without = [...unknown].join(", ") || "none";
  console.log(`${from}: ${all} examples, ${refused} refused (${repository} lack a field of the repository), no schema: ${without}`);
}
JS
node main.js | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
api.github.com: 329 examples, 53 refused (47 lack a field of the repository), no schema: none
ghes-35: 125 examples, 116 refused (100 lack a field of the repository), no schema: cache_sync, enterprise, user
ghes-31: 49 examples, 45 refused (40 lack a field of the repository), no schema: content_reference, enterprise, user
SEEN
echo "as seen"
