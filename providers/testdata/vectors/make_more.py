#!/usr/bin/env python3
"""Makes more vectors, as make.py does: python3 make_more.py NAME prints those of NAME.yaml.

What a sender has published stands here with its source. Everything else is signed as its documentation or library has it.
"""

import sys

from make import *

LIBRARY.update({
    "buildkite": "go-buildkite v4.23.0 (Go), ValidatePayload",
    "mollie": "mollie-api-php v3.9.0 src/Webhooks/SignatureValidator.php",
    "chargebee": "chargebee-node v3.31.0 src/resources/webhook/auth.ts",
    "woocommerce": "woocommerce includes/class-wc-webhook.php generate_signature",
    "bigcommerce": "standardwebhooks v1.1.1 with the base64 of the client secret",
    "easypost": "@easypost/api v8.9.0 src/utils/util.js",
    "workos": "@workos-inc/node v8.13.0 src/common/crypto/signature-provider.ts",
    "notion": "@notionhq/client v5.26.0 src/webhooks.ts",
    "linear": "@linear/sdk v98.0.0 src/webhooks/client.ts",
    "line": "@line/bot-sdk v11.0.0 lib/validate-signature.ts",
    "pagerduty": "go-pagerduty v1.8.0 webhookv3/webhookv3.go",
    "razorpay": "razorpay v2.9.8 lib/utils/razorpay-utils.js",
    "recurly": "recurly-client-ruby v4.48.0 lib/recurly/webhooks.rb",
    "contentful": "@contentful/node-apps-toolkit v3.16.1 src/requests/sign-request.ts",
    "sanity": "@sanity/webhook v4.0.4 src/signature.ts",
})

AT = "https://hooks.example.com/webhooks/"
OTHER = "another secret of vectors, as long"


def published(source, **fields):
    return dict({"from": "vectors", "source": source}, **fields)


def basic(user):
    return {"Authorization": "Basic " + b64((user + ":" + SECRET).encode())}


@maker
def mollie():
    body = compact({"resource": "event", "id": "event_1", "type": "payment-link.paid", "entityId": "pl_1"})
    sign = mac(SECRET, body).hex()
    token = {"MOLLIE_WEBHOOK_TOKEN": "t0kenOfVectorsInTheUrl"}
    yield dict(name="with its prefix", headers={"X-Mollie-Signature": "sha256=" + sign}, body=body)
    yield dict(name="without its prefix", headers={"X-Mollie-Signature": sign}, body=body)
    yield dict(name="classic, in the path", url=AT + "mollie/t0kenOfVectorsInTheUrl", secrets=token, body="id=tr_1")
    yield dict(name="classic, in the query", url=AT + "mollie?token=t0kenOfVectorsInTheUrl", secrets=token, body="id=tr_1")


@maker
def chargebee():
    body = compact({"id": "ev_1", "event_type": "subscription_created", "content": {"subscription": {"id": "s1"}}})
    yield dict(name="basic", url=AT + "chargebee", headers=basic("chargebee"), body=body)
    yield dict(name="another user", url=AT + "chargebee", headers=basic("somebody"), body=body, refused="bad_token")
    yield dict(name="key in the URL", url=AT + "chargebee?key=t0kenOfVectorsInTheUrl", secret="t0kenOfVectorsInTheUrl", body=body)


@maker
def lemon_squeezy():
    body = compact({"meta": {"event_name": "order_created"}, "data": {"type": "orders", "id": "1",
                    "attributes": {"user_name": "Zoë"}}})
    yield dict(name="as documented", headers={"X-Event-Name": "order_created", "X-Signature": mac(SECRET, body).hex()}, body=body)


@maker
def paystack():
    body = compact({"event": "charge.success", "data": {"id": 302961, "reference": "qTPrJoy9Bx"}})
    yield dict(name="as documented", headers={"X-Paystack-Signature": mac(SECRET, body, by="sha512").hex()}, body=body)


@maker
def razorpay():
    yield published("github.com/razorpay/razorpay-node test/utils/razorpay-utils.spec.js@9737ef1", name="published",
                    secret="123456",
                    headers={"X-Razorpay-Signature": "2fe04e22977002e6c7cb553adab8b460cb9e2a4970d5953cb27a8472752e3bbc"},
                    body='{"a":1,"b":2,"c":{"d":3}}')
    body = compact({"entity": "event", "event": "payment.captured", "payload": {"payment": {"entity": {"id": "pay_1"}}}})
    yield dict(name="as the library", headers={"X-Razorpay-Signature": mac(SECRET, body).hex(), "X-Razorpay-Event-Id": "e1"},
               body=body)


@maker
def recurly():
    yield published(
        "github.com/recurly/recurly-client-ruby spec/recurly/webhooks_spec.rb (v4.48.0)", name="published", time=1663103925,
        secret="354fab5bd35f5a0d50845ee7e30165244468b13c2c343f104e4e730a59326d9d",
        headers={"recurly-signature": "1663103925004,ad24699f3beaa24c9af2cc7ada3ce4c835da0090194241b9d3add83d27f14bc3"},
        body='{"id":"rjxwmwedwqug","object_type":"account","site_id":"qc326l1hl8k9","event_type":"created",'
             '"event_time":"2022-09-13T21:18:40Z","account_code":"adfas23zzz14123"}')
    body = compact({"id": "s1", "object_type": "subscription", "event_type": "created", "event_time": "2025-10-09T08:53:20Z"})
    stamp = str(NOW * 1000)
    sign, other = mac(SECRET, stamp, ".", body).hex(), mac(OTHER, stamp, ".", body).hex()
    yield dict(name="while a secret is replaced", headers={"recurly-signature": f"{stamp},{other},{sign}"}, body=body)
    yield dict(name="no time", headers={"recurly-signature": sign}, body=body, refused="malformed_header")
    yield dict(name="the time is no number", headers={"recurly-signature": "now," + sign}, body=body,
               refused="malformed_timestamp")


@maker
def woocommerce():
    body = compact({"id": 727, "status": "processing", "line_items": [{"id": 315, "name": "Café"}]})
    yield dict(name="as WooCommerce",
               headers={"X-WC-Webhook-Topic": "order.created", "X-WC-Webhook-Signature": b64(mac(SECRET, body))},
               body=body)
    yield dict(name="its ping", headers={"Content-Type": "application/x-www-form-urlencoded"}, body="webhook_id=5",
               refused="missing_signature")


@maker
def bigcommerce():
    body = compact({"scope": "store/order/created", "store_id": "1025646", "data": {"type": "order", "id": 250},
                    "hash": "7ee67cd1"})
    headers = {"webhook-id": "msg_1", "webhook-timestamp": str(NOW),
               "webhook-signature": "v1," + b64(mac(SECRET, "msg_1", ".", str(NOW), ".", body))}
    yield dict(name="signed", headers=headers, body=body)
    yield dict(name="a secret header", headers={"X-Webhook-Token": SECRET}, secrets={"BIGCOMMERCE_WEBHOOK_TOKEN": SECRET},
               body=body)


@maker
def shippo():
    body = compact({"event": "track_updated", "test": False, "data": {"carrier": "usps", "tracking_number": "9205"}})
    sign = mac(SECRET, str(NOW), ".", body).hex()
    yield dict(name="signed", headers={"Shippo-Auth-Signature": f"t={NOW},v1={sign}"}, body=body)
    yield dict(name="in the URL", url=AT + "shippo?token=t0kenOfVectorsInTheUrl", secret="t0kenOfVectorsInTheUrl", body=body)
    yield dict(name="by address", url=AT + "shippo", address="52.4.41.98", secrets={"SHIPPO_NETWORKS": "52.4.41.98/32"},
               other_secret="198.51.100.0/24", body=body)


@maker
def easypost():
    body = compact({"id": "evt_1", "object": "Event", "description": "tracker.updated", "result": {"id": "trk_1",
                    "object": "Tracker"}})
    yield dict(name="as the library", headers={"X-Hmac-Signature": "hmac-sha256-hex=" + mac(SECRET, body).hex()}, body=body)
    secret = "se\u0301cret of vectors"  # in the form NFKD, which the library brings it into
    yield dict(name="a secret with an accent", secret=secret,
               headers={"X-Hmac-Signature": "hmac-sha256-hex=" + mac(secret, body).hex()},
               body=body)


@maker
def workos():
    body = compact({"id": "event_1", "event": "dsync.user.created", "data": {"id": "directory_user_1",
                    "object": "directory_user"}})
    stamp = str(NOW * 1000 + 7)
    yield dict(name="as the library", headers={"WorkOS-Signature": f"t={stamp}, v1={mac(SECRET, stamp, '.', body).hex()}"},
               body=body)
    yield dict(name="without the space", headers={"WorkOS-Signature": f"t={stamp},v1={mac(SECRET, stamp, '.', body).hex()}"},
               body=body)


@maker
def stytch():
    body = compact({"action": "CREATE", "event_id": "e1", "id": "user-1", "object_type": "user", "source": "DIRECT"})
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    sign = b64(mac(key, "msg_1", ".", str(NOW), ".", body))
    yield dict(name="as documented", secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
               headers={"svix-id": "msg_1", "svix-timestamp": str(NOW), "svix-signature": "v1," + sign}, body=body)


@maker
def gitlab():
    body = compact({"object_kind": "push", "event_name": "push", "ref": "refs/heads/main", "user_name": "José"})
    key = b"0123456789abcdef0123456789abcdef"
    sign = b64(mac(key, "id-1", ".", str(NOW), ".", body))
    yield dict(name="signing token", secrets={"GITLAB_SIGNING_TOKEN": "whsec_" + b64(key)},
               other_secret="whsec_" + b64(b"fedcba9876543210fedcba9876543210"),
               headers={"webhook-id": "id-1", "webhook-timestamp": str(NOW), "webhook-signature": "v1," + sign}, body=body)
    yield dict(name="secret token", secrets={"GITLAB_WEBHOOK_TOKEN": SECRET}, headers={"X-Gitlab-Token": SECRET}, body=body)


ATLASSIAN = "sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9"


@maker
def bitbucket():
    yield published("https://support.atlassian.com/bitbucket-cloud/docs/manage-webhooks", name="published",
                    secret="It's a Secret to Everybody", headers={"X-Hub-Signature": ATLASSIAN}, body="Hello World!")
    body = compact({"push": {"changes": []}, "repository": {"uuid": "{1}"}})
    yield {"name": "as documented", "from": "documentation", "headers": {"X-Hub-Signature": "sha256=" + mac(SECRET, body).hex()},
           "body": body}


@maker
def jira():
    yield published("https://developer.atlassian.com/cloud/jira/platform/webhooks", name="published",
                    secret="It's a Secret to Everybody", headers={"X-Hub-Signature": ATLASSIAN}, body="Hello World!")
    body = compact({"timestamp": NOW * 1000, "webhookEvent": "jira:issue_created", "issue": {"id": "10001"}})
    yield {"name": "as documented", "from": "documentation", "headers": {"X-Hub-Signature": "sha256=" + mac(SECRET, body).hex()},
           "body": body}
    sha1 = "sha1=" + mac(SECRET, body, by="sha1").hex()
    yield {"name": "another method", "from": "documentation", "headers": {"X-Hub-Signature": sha1}, "body": body,
           "refused": "malformed_header"}


@maker
def linear():
    body = compact({"action": "create", "type": "Issue", "data": {"id": "i1"}, "webhookTimestamp": NOW * 1000})
    yield dict(name="as the library", headers={"Linear-Signature": mac(SECRET, body).hex()}, body=body)


@maker
def notion():
    body = compact({"id": "e1", "type": "page.created", "entity": {"id": "p1", "type": "page"}})
    yield dict(name="as the library", headers={"X-Notion-Signature": "sha256=" + mac(SECRET, body).hex()}, body=body)
    yield dict(name="the handshake, which nobody signs", body=compact({"verification_token": "secret_1"}),
               refused="missing_signature")


@maker
def clickup():
    body = compact({"webhook_id": "7689a169-a000-4985-8676-6902b96d6627", "event": "taskCreated", "task_id": "c0j"})
    yield dict(name="as documented", headers={"X-Signature": mac(SECRET, body).hex()}, body=body)


@maker
def calendly():
    body = compact({"event": "invitee.created", "payload": {"uri": "https://api.calendly.com/scheduled_events/E/invitees/I"}})
    sign = mac(SECRET, str(NOW), ".", body).hex()
    yield dict(name="as documented", headers={"Calendly-Webhook-Signature": f"t={NOW},v1={sign}"}, body=body)


@maker
def typeform():
    body = compact({"event_id": "e1", "event_type": "form_response", "form_response": {"form_id": "f1", "token": "t1"}})
    yield dict(name="as documented", headers={"Typeform-Signature": "sha256=" + b64(mac(SECRET, body))}, body=body)


@maker
def docusign():
    body = compact({"event": "envelope-sent", "data": {"envelopeId": "e1"}, "generatedDateTime": "2025-10-09T08:53:20Z"})
    secret = "c2VjcmV0IG9mIHZlY3RvcnMsIGFzIHRleHQ="  # looks like base64, and is used as it is
    yield dict(name="as documented", secret=secret, headers={"X-DocuSign-Signature-1": b64(mac(secret, body))}, body=body)
    yield dict(name="by the second key", secret=secret, headers={"X-DocuSign-Signature-2": b64(mac(secret, body))}, body=body)


@maker
def intercom():
    body = compact({"type": "notification_event", "id": "notif_1", "topic": "user.created", "data": {"item": {"id": "1"}}})
    yield dict(name="as documented", headers={"X-Hub-Signature": "sha1=" + mac(SECRET, body, by="sha1").hex()}, body=body)


@maker
def zendesk():
    body = compact({"id": "e1", "type": "zen:event-type:ticket.created", "subject": "zen:ticket:1"})
    stamp = "2025-10-09T08:53:20Z"
    headers = {"X-Zendesk-Webhook-Signature-Timestamp": stamp, "X-Zendesk-Webhook-Signature": b64(mac(SECRET, stamp, body))}
    yield dict(name="as documented", headers=headers, body=body)
    swapped = dict(headers, **{"X-Zendesk-Webhook-Signature": b64(mac(SECRET, body, stamp))})
    yield dict(name="body first, as an older page had it", headers=swapped, body=body, refused="bad_signature")


@maker
def pagerduty():
    body = compact({"event": {"id": "01BWD", "event_type": "incident.triggered", "data": {"id": "PGR0VU2", "type": "incident"}}})
    sign = "v1=" + mac(SECRET, body).hex()
    yield dict(name="as the library", headers={"X-PagerDuty-Signature": sign}, body=body)
    yield dict(name="while a secret is replaced", headers={"X-PagerDuty-Signature": "v1=" + mac(OTHER, body).hex() + "," + sign},
               body=body)


@maker
def sentry():
    body = compact({"action": "created", "installation": {"uuid": "i1"}, "data": {"issue": {"id": "117", "title": "Boom"}}})
    yield dict(name="as documented", headers={"Sentry-Hook-Resource": "issue", "Sentry-Hook-Signature": mac(SECRET, body).hex()},
               body=body)


@maker
def telegram():
    body = compact({"update_id": 1, "message": {"message_id": 1, "chat": {"id": 1}}})
    token = {"X-Telegram-Bot-Api-Secret-Token": "s3cret_of-vectors"}
    yield dict(name="as documented", url=AT + "telegram", secret="s3cret_of-vectors", headers=token, body=body)
    yield dict(name="for one bot", url=AT + "telegram/shop", secret="s3cret_of-vectors", headers=token, body=body)


@maker
def line():
    yield published("github.com/line/line-bot-sdk-nodejs test/validate-signature.spec.ts@3c0a10c7", name="published",
                    secret="test_secret",
                    headers={"X-Line-Signature": "t7Hn4ZDHqs6e+wdvI5TyQIvzie0DmMUmuXEBqyyE/tM="}, body='{"hello":"world"}')
    body = compact({"destination": "U1", "events": []})
    yield dict(name="the button Verify", headers={"X-Line-Signature": b64(mac(SECRET, body))}, body=body)


@maker
def postmark():
    body = compact({"RecordType": "Delivery", "MessageID": "m1", "Recipient": "ada@example.com"})
    yield dict(name="basic", headers=basic("postmark"), body=body)
    yield dict(name="a secret header", headers={"X-Webhook-Token": SECRET}, body=body)


@maker
def vercel():
    body = compact({"id": "uev_1", "type": "deployment.created", "payload": {"deployment": {"id": "dpl_1"}}})
    yield dict(name="as documented", headers={"X-Vercel-Signature": mac(SECRET, body, by="sha1").hex()}, body=body)


@maker
def netlify():
    body = compact({"id": "d1", "site_id": "s1", "state": "ready", "name": "app", "updated_at": "2025-10-09T08:53:20.123Z"})
    claims = {"iss": "netlify", "sha256": hashlib.sha256(body.encode()).hexdigest()}
    content = b64url(compact({"alg": "HS256", "typ": "JWT"})) + "." + b64url(compact(claims))
    jws = {"X-Webhook-Signature": content + "." + b64url(mac(SECRET, content))}
    yield dict(name="as documented", headers=jws, body=body)
    yield dict(name="another body", headers=jws, body=body + " ", refused="bad_signature")


@maker
def circleci():
    source = "https://circleci.com/docs/outbound-webhooks/#validate-webhooks"
    for secret, body, sign in (
            ("secret", "hello world", "734cc62f32841568f45715aeb9f4d7891324e6d948e4c6c60c0621cdac48623a"),
            ("another-secret", "lalala", "daa220016c8f29a8b214fbfc3671aeec2145cfb1e6790184ffb38b6d0425fa00"),
            ("hunter123", "an-important-request-payload", "9be2242094a9a8c00c64306f382a7f9d691de910b4a266f67bd314ef18ac49fa")):
        yield published(source, name=body, secret=secret, headers={"circleci-signature": "v1=" + sign}, body=body)
    body = compact({"id": "e1", "type": "workflow-completed"})
    yield {"name": "with a version to come", "from": "documentation", "body": body,
           "headers": {"circleci-signature": "v1=" + mac(SECRET, body).hex() + ",v2=00"}}


@maker
def buildkite():
    body = compact({"event": "build.finished", "build": {"id": "b1", "message": "Fix café"}})
    sign = mac(SECRET, str(NOW), ".", body).hex()
    yield dict(name="signed",
               headers={"X-Buildkite-Event": "build.finished", "X-Buildkite-Signature": f"timestamp={NOW},signature={sign}"},
               body=body)
    yield dict(name="as a token", headers={"X-Buildkite-Event": "build.finished", "X-Buildkite-Token": SECRET}, body=body)


@maker
def contentful():
    body, at = compact({"sys": {"type": "Entry", "id": "e1"}, "fields": {"title": {"de": "Tür"}}}), AT + "contentful"
    lists = "x-contentful-signed-headers,x-contentful-timestamp,x-contentful-topic"
    headers = {"x-contentful-signed-headers": lists, "x-contentful-timestamp": str(NOW * 1000),
               "x-contentful-topic": "ContentManagement.Entry.publish"}
    text = "\n".join(["POST", "/webhooks/contentful", ";".join(f"{k}:{v}" for k, v in sorted(headers.items())), body])
    signed = dict(headers, **{"x-contentful-signature": mac(SECRET, text).hex()})
    key = {"CONTENTFUL_SIGNING_SECRET": SECRET}
    yield dict(name="signed", url=at, secrets=key, headers=signed, body=body)
    other = dict(signed, **{"x-contentful-topic": "ContentManagement.Entry.delete"})
    yield dict(name="another topic, which is signed", url=at, secrets=key, headers=other, body=body, refused="bad_signature")
    alone = {"x-contentful-signed-headers": "x-contentful-topic", "x-contentful-topic": headers["x-contentful-topic"],
             "x-contentful-timestamp": str(NOW * 1000)}
    text = "\n".join(["POST", "/webhooks/contentful", "x-contentful-topic:" + headers["x-contentful-topic"], body])
    alone["x-contentful-signature"] = mac(SECRET, text).hex()
    yield dict(name="a time that is not signed", url=at, secrets=key, headers=alone, body=body, refused="missing_timestamp")
    yield dict(name="a secret header", headers={"X-Webhook-Token": SECRET}, body=body)
    yield dict(name="basic", headers=basic("contentful"), body=body)


@maker
def sanity():
    yield published("github.com/sanity-io/webhook-toolkit test/signature.test.ts@649f5ad", name="published",
                    secret="test", time=1633519811,
                    headers={"sanity-webhook-signature": "t=1633519811129,v1=tLa470fx7qkLLEcMOcEUFuBbRSkGujyskxrNXcoh0N0"},
                    body='{"_id":"resume"}')
    body, stamp = compact({"_id": "d1", "_type": "article"}), str(NOW * 1000)
    sign = b64url(mac(SECRET, stamp, ".", body))
    yield dict(name="as the library", headers={"sanity-webhook-signature": f"t={stamp},v1={sign}"}, body=body)


@maker
def segment():
    body = compact({"type": "track", "messageId": "m1", "userId": "u1", "event": "Order Completed"})
    yield dict(name="as documented", headers={"X-Signature": mac(SECRET, body, by="sha1").hex()}, body=body)
    batch = compact([{"type": "track", "messageId": "m1"}, {"type": "track", "messageId": "m2"}])
    first = compact({"type": "track", "messageId": "m1"})
    yield dict(name="a batch, of which the first event is signed", headers={"X-Signature": mac(SECRET, first, by="sha1").hex()},
               body=batch,
               refused="bad_signature")


@maker
def snyk():
    body = compact({"project": {"id": "p1"}, "org": {"id": "o1"}, "newIssues": [], "removedIssues": []})
    yield dict(name="as documented",
               headers={"X-Snyk-Event": "project_snapshot/v0", "X-Hub-Signature": "sha256=" + mac(SECRET, body).hex()},
               body=body)


@maker
def quickbooks():
    body = compact([{"specversion": "1.0", "id": "88cd52aa", "type": "qbo.invoice.created.v1", "intuitentityid": "1",
                     "intuitaccountid": "310687"}])
    yield dict(name="as documented", headers={"intuit-signature": b64(mac(SECRET, body))}, body=body)


@maker
def xero():
    body = compact({"events": [], "firstEventSequence": 0, "lastEventSequence": 0, "entropy": "S0m3r4Nd0mt3xt"})
    yield dict(name="intent to receive", headers={"x-xero-signature": b64(mac(SECRET, body))}, body=body)
    wrong = b64(mac(OTHER, body))
    yield dict(name="intent to receive, wrongly signed", headers={"x-xero-signature": wrong}, body=body, refused="bad_signature")


LIBRARY["mercado-pago"] = "mercadopago 3.6.1 (npm), WebhookSignatureValidator"


@maker
def mercado_pago():
    def vector(name, query, request, ts, **more):
        signed = (f"id:{query};" if query else "") + (f"request-id:{request};" if request else "") + f"ts:{ts};"
        headers = {"X-Signature": f"ts={ts},v1={mac(SECRET, signed).hex()}"}
        if request:
            headers["X-Request-Id"] = request
        url = AT + "mercado-pago" + (f"?data.id={query}&type=payment" if query else "")
        return dict(dict(name=name, url=url, headers=headers, body=body), **more)

    body = compact({"id": 12345, "type": "payment", "action": "payment.created", "data": {"id": "999999999"}})
    yield vector("all of it", "999999999", "bb56a2f1-6aae-46ac-982e-9dcd3581d08e", NOW)
    yield vector("without an ID", "", "bb56a2f1-6aae-46ac-982e-9dcd3581d08e", NOW)
    yield vector("without the ID of the request", "999999999", "", NOW)
    yield vector("milliseconds", "ORD01ABC", "r1", NOW * 1000)
    moved = vector("the ID of the request within the other one", "999999999", "r1", NOW, refused="malformed_header")
    moved["url"] = AT + "mercado-pago?data.id=999999999%3Brequest-id%3Ar1"
    del moved["headers"]["X-Request-Id"]
    yield moved
    twice = vector("two IDs", "999999999", "r1", NOW, refused="ambiguous_header")
    twice["url"] += "&data.id=1"
    yield twice
    other = vector("another ID", "999999999", "r1", NOW, refused="bad_signature")
    other["url"] = AT + "mercado-pago?data.id=1"
    yield other
    yield dict(vector("the ID left out", "999999999", "r1", NOW, refused="bad_signature"), url=AT + "mercado-pago")


@maker
def pandadoc():
    body = compact([{"event": "document_state_changed", "data": {"id": "d1", "status": "document.sent", "name": "Größe"}}])
    at, sign = AT + "pandadoc?signature=", mac(SECRET, body).hex()
    yield dict(name="as documented", url=at + sign, body=body)
    yield dict(name="two signatures", url=at + sign + "&signature=" + "0" * 64, body=body, refused="ambiguous_header")
    yield dict(name="in a header", url=AT + "pandadoc", headers={"signature": sign}, body=body, refused="missing_signature")


LIBRARY["cloudinary"] = "cloudinary 2.11.0 (npm), utils.verifyNotificationSignature"
LIBRARY["payos"] = "@payos/node 2.0.5 (npm), webhooks.verify"


def plain(by, *parts):
    return hashlib.new(by, b"".join(p.encode() if isinstance(p, str) else p for p in parts)).hexdigest()


@maker
def cloudinary():
    body = compact({"notification_type": "upload", "request_id": "r1", "asset_id": "a1", "public_id": "Tür"})
    for name, by in (("SHA-1", "sha1"), ("SHA-256", "sha256")):
        yield dict(name=name, headers={"X-Cld-Timestamp": str(NOW), "X-Cld-Signature": plain(by, body, str(NOW), SECRET)}, body=body)
    yield dict(name="the secret as the key of an HMAC", body=body, refused="bad_signature",
               headers={"X-Cld-Timestamp": str(NOW), "X-Cld-Signature": mac(SECRET, body, str(NOW), by="sha1").hex()})
    yield dict(name="without the secret", headers={"X-Cld-Timestamp": str(NOW), "X-Cld-Signature": plain("sha1", body, str(NOW))},
               body=body, refused="bad_signature")


@maker
def recharge():
    body = compact({"subscription": {"id": 5, "status": "active"}})
    yield dict(name="as documented", body=body,
               headers={"X-Recharge-Topic": "subscription/created", "X-Recharge-Hmac-Sha256": plain("sha256", SECRET, body)})
    yield dict(name="the secret behind the body", body=body, refused="bad_signature",
               headers={"X-Recharge-Topic": "subscription/created", "X-Recharge-Hmac-Sha256": plain("sha256", body, SECRET)})

    def timed(name, at, signed, **more):
        return dict(name=name, body=body, time=1760000000, headers={
            "X-Recharge-Webhook-Signature": f"t={at},v1={mac(SECRET, signed).hex()}"}, **more)

    yield timed("with a time", 1760000000, f"1760000000.{body}")
    yield timed("with another time than the signed one", 1760000001, f"1760000000.{body}", refused="bad_signature")
    yield timed("too old", 1759820000, f"1759820000.{body}", refused="stale_timestamp")


@maker
def payos():
    key = "1a54716c8f0efb2744fb28b6e38b25da7f67a925d98bc1c18bd8faaecadd7675"
    data = {"orderCode": 123, "amount": 3000, "description": "VQRIO123", "accountNumber": "12345678", "reference": "TF230204212323",
            "transactionDateTime": "2023-02-04 18:25:00", "currency": "VND", "paymentLinkId": "124c33293c43417ab7879e14c8d9eb18",
            "code": "00", "desc": "Thành công", "counterAccountBankId": "", "counterAccountBankName": "", "counterAccountName": "",
            "counterAccountNumber": "", "virtualAccountName": "", "virtualAccountNumber": ""}

    def vector(name, data, signed=None, **more):
        pairs = {k: "" if v is None else v for k, v in (signed or data).items()}
        sign = mac(key, "&".join(f"{k}={pairs[k]}" for k in sorted(pairs))).hex()
        body = {"code": "00", "desc": "success", "success": True, "data": data, "signature": sign}
        return dict(name=name, secret=key, body=compact(body), other_body=compact(dict(body, data=dict(data, amount=1))), **more)

    yield published("https://payos.vn/docs/tich-hop-webhook/kiem-tra-du-lieu-voi-signature/",
                    **vector("the example of the documentation", data))
    yield vector("null", dict(data, counterAccountName=None))
    yield vector("two fields in one", {"amount": "3000&code=00", "orderCode": 1}, {"amount": 3000, "code": "00", "orderCode": 1},
                 refused="malformed_header")
    yield vector("a list", dict(data, items=[]), data, refused="malformed_header")


LIBRARY["dropbox-sign"] = "@dropbox/sign 1.11.0 (npm), EventCallbackHelper.isValid"


def multipart(boundary, *parts):
    return "".join(f"--{boundary}\r\nContent-Disposition: form-data; {head}\r\n\r\n{text}\r\n" for head, text in parts) + f"--{boundary}--\r\n"


@maker
def dropbox_sign():
    def event(**more):
        return compact({"event": dict({"event_time": str(NOW), "event_type": "signature_request_sent",
                                       "event_hash": mac(SECRET, str(NOW), "signature_request_sent").hex()}, **more),
                        "signature_request": {"signature_request_id": "r1", "title": "Größe"}})

    def vector(name, *parts, boundary="b0undary", declared=None, **more):
        return dict(name=name, headers={"Content-Type": f"multipart/form-data; boundary={declared or boundary}"},
                    body=multipart(boundary, *parts), other_body=multipart(boundary, ('name="json"', event(event_type="x"))), **more)

    field = 'name="json"'
    yield vector("as the library", (field, event()))
    yield vector("with another field and a file", ('name="note"', "x"), ('name="file"; filename="a.pdf"', "%PDF"), (field, event()))
    yield vector("another boundary in the header", (field, event()), declared="other")
    yield vector("two events", (field, event()), (field, event(event_type="x")), refused="malformed_header")
    yield vector("a file in place of the field", (field + '; filename="json"', event()), refused="malformed_header")
    yield dict(vector("a preamble", (field, event()), refused="malformed_header"), body="\r\n" + multipart("b0undary", (field, event())))


@maker
def jotform():
    body = multipart("b0undary", ('name="submissionID"', "1"), ('name="rawRequest"', "{}"))
    yield dict(name="in the path", url=AT + "jotform/t0kenOfVectors", secret="t0kenOfVectors", body=body,
               headers={"Content-Type": "multipart/form-data; boundary=b0undary"})


if __name__ == "__main__":
    write(sys.argv[1])
