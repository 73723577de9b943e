#!/usr/bin/env bash
# Standard Webhooks: five SDKs make other keys of the same whsec_ secret, so a request that one accepts another refuses.
#
# Versions: standardwebhooks 1.1.1, openai 7.59.0, @anthropic-ai/sdk 1.14.0, @polar-sh/sdk 1.0.1, @imagekit/nodejs 7.11.0,
#           @whop/sdk 0.0.42 (npm, Node 20 or later).
# Guess:    a secret whsec_… of a provider that follows Standard Webhooks is base64 after its prefix, as the specification says. The
#           provider's SDK takes it as the dashboard shows it.
# Seen:     OpenAI's, Anthropic's and Whop's SDKs decode the base64. ImageKit's takes the whole text, prefix included, as the key, and
#           refuses what the others accept. Polar's accepts both. Without the prefix, OpenAI's takes the text, and Anthropic's and
#           Whop's decode it: the same characters are two keys.
# Hurts:    whoever verifies with a library of the specification, or moves a secret from one provider's receiver to another's: each
#           request is refused, which looks like a wrong secret. Encode the text in base64 first where the SDK of the provider does.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT; cd "$dir"
npm init -y >/dev/null
npm install --silent --ignore-scripts --no-audit --no-fund standardwebhooks@1.1.1 openai@7.59.0 @anthropic-ai/sdk@1.14.0 \
	@polar-sh/sdk@1.0.1 @imagekit/nodejs@7.11.0 @whop/sdk@0.0.42 2>/dev/null
cat >verify.mjs <<'JS'
import { createHmac } from 'node:crypto';
import Anthropic from '@anthropic-ai/sdk';
import ImageKit from '@imagekit/nodejs';
import { webhooks as polar } from '@polar-sh/sdk/2026-10';
import Whop from '@whop/sdk';
import OpenAI from 'openai';

const body = '{"type":"order.created","timestamp":"2026-11-29T12:00:00Z","data":{"id":"1"}}';
const seconds = String(Math.floor(Date.now() / 1000));
const sdks = {
  openai: (headers, key) => new OpenAI({ apiKey: 'x' }).webhooks.unwrap(body, headers, key),
  anthropic: (headers, key) => new Anthropic({ apiKey: 'x' }).beta.webhooks.unwrap(body, { headers, key }),
  whop: (headers, key) => new Whop({ apiKey: 'x' }).webhooks.unwrap(body, { headers, key }),
  imagekit: (headers, key) => new ImageKit({ privateKey: 'x' }).webhooks.unwrap(body, { headers, key }),
  polar: (headers, key) => polar.validateEvent(body, headers, key),
};
const plain = Buffer.from('0123456789abcdef0123456789abcdef').toString('base64');
for (const secret of ['whsec_' + plain, plain]) {
  const keys = { 'its base64': Buffer.from(plain, 'base64'), 'the whole text': Buffer.from(secret) };
  for (const [name, key] of Object.entries(keys)) {
    const signature = createHmac('sha256', key).update(`msg_1.${seconds}.${body}`).digest('base64');
    const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': seconds, 'webhook-signature': 'v1,' + signature };
    const accepted = [];
    for (const [sdk, verify] of Object.entries(sdks)) {
      try {
        await verify(headers, secret);
        accepted.push(sdk);
      } catch {}
    }
    console.log(`${secret === plain ? 'without' : 'with'} whsec_, the key is ${name}: accepted by ${accepted.join(', ')}`);
  }
}
JS
node verify.mjs | tee seen
diff - seen <<'SEEN' || { echo "CHANGED: the behavior isn't what was seen"; exit 1; }
with whsec_, the key is its base64: accepted by openai, anthropic, whop, polar
with whsec_, the key is the whole text: accepted by imagekit, polar
without whsec_, the key is its base64: accepted by anthropic, whop, polar
without whsec_, the key is the whole text: accepted by openai, imagekit, polar
SEEN
echo "as seen"
