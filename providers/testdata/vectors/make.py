#!/usr/bin/env python3
"""Makes vectors for senders that publish none: python3 make.py NAME prints those of NAME.yaml.

It signs as the sender's documentation has it, with Python's own libraries, so that nothing of what is tested has a part in it.
"""

import base64
import hashlib
import hmac
import json
import os
import sys
import urllib.parse
import zlib

NOW = 1760000000
SECRET = "a secret of vectors, 32 bytes in all"


def mac(key, *parts, by="sha256"):
    message = b"".join(p.encode() if isinstance(p, str) else p for p in parts)
    return hmac.new(key.encode() if isinstance(key, str) else key, message, by).digest()


def b64(data):
    return base64.b64encode(data).decode()


def b64url(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else data.encode()).decode().rstrip("=")


def compact(value):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


MAKERS = {}


def maker(function):
    MAKERS[function.__name__.replace("_", "-")] = function
    return function


@maker
def hmac_(name="hmac"):
    body = compact({"id": "evt_1", "type": "order.created", "data": {"id": "o_1", "note": "café"}})
    sign = mac(SECRET, body).hex()
    yield dict(name="with a prefix", headers={"X-Signature": "sha256=" + sign}, body=body)
    yield dict(name="without a prefix", headers={"X-Signature": sign}, body=body)


MAKERS["hmac"] = MAKERS.pop("hmac-")


@maker
def token():
    body = compact({"id": "evt_1", "type": "order.created", "data": {"id": "o_1"}})
    yield dict(name="in its header", headers={"X-Webhook-Token": SECRET}, body=body)
    yield dict(name="as a bearer", headers={"Authorization": "Bearer " + SECRET}, body=body)


@maker
def events():
    body = compact([{"id": "evt_1", "type": "order.created", "source": "shop", "data": {"id": "o_1"}}])
    yield dict(name="as a bearer", headers={"Authorization": "Bearer " + SECRET}, body=body)
    yield dict(name="basic is none", headers={"Authorization": "Basic " + b64(("x:" + SECRET).encode())}, body=body,
               refused="malformed_token")


@maker
def calcom():
    body = compact({"triggerEvent": "BOOKING_CREATED", "createdAt": "2025-10-09T08:53:20.000Z",
                    "payload": {"uid": "uid1", "title": "Café"}})
    yield dict(name="as documented", headers={"X-Cal-Signature-256": mac(SECRET, body).hex()}, body=body)
    yield dict(name="without a secret at the sender", headers={"X-Cal-Signature-256": "no-secret-provided"}, body=body,
               refused="malformed_signature")


def svix(prefix, body):
    ident, key = "msg_1", base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    sign = b64(mac(key, f"{ident}.{NOW}.", body))
    return dict(secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", body=body, headers={
        prefix + "id": ident, prefix + "timestamp": str(NOW), prefix + "signature": "v1," + sign})


@maker
def clerk():
    body = compact({"type": "user.created", "object": "event", "timestamp": NOW * 1000,
                    "data": {"id": "user_1", "object": "user"}})
    yield dict(name="as documented", **svix("svix-", body))


@maker
def resend():
    body = compact({"type": "email.delivered", "created_at": "2025-10-09T08:53:20.000Z", "data": {"email_id": "e_1"}})
    yield dict(name="as documented", **svix("svix-", body))


@maker
def rentprog():
    body = compact({"event": "car_update", "payload": "{\"id\"=>65001, \"mileage\"=>[101100, 102000]}"})
    at = "https://hooks.example.com"
    yield dict(name="in the path", url=at + "/webhooks/rentprog/p4thS3cretOfVectors", secret="p4thS3cretOfVectors", body=body)
    yield dict(name="in the query", url=at + "/webhooks/rentprog?key=p4thS3cretOfVectors", secret="p4thS3cretOfVectors", body=body)
    yield dict(name="by address", url=at + "/webhooks/rentprog", address="203.0.113.7", body=body,
               secrets={"RENTPROG_NETWORKS": "203.0.113.0/24"}, other_secret="198.51.100.0/24")


@maker
def umnico():
    body = compact({"type": "message.incoming", "accountId": 1001, "message": {"messageId": "m-1"}})
    at = "https://hooks.example.com"
    yield dict(name="in the path", url=at + "/webhooks/umnico/p4thS3cretOfVectors", secret="p4thS3cretOfVectors", body=body)
    yield dict(name="by address", url=at + "/webhooks/umnico", address="203.0.113.7", body=body,
               secrets={"UMNICO_NETWORKS": "203.0.113.0/24"}, other_secret="198.51.100.0/24")


@maker
def evolution():
    body = compact({"event": "connection.update", "instance": "shop", "data": {"state": "open"}})
    with_key = compact({"event": "connection.update", "instance": "shop", "data": {"state": "open"}, "apikey": SECRET})
    at = "https://hooks.example.com/webhooks/evolution"
    yield dict(name="in a header", url=at, headers={"X-Webhook-Token": SECRET}, body=body)
    yield dict(name="in the query", url=at + "?token=q4erySecretOfVectors", secret="q4erySecretOfVectors", body=body)
    yield dict(name="in the body", url=at, body=with_key)
    yield dict(name="basic", url=at, headers={"Authorization": "Basic " + b64(("gateway:" + SECRET).encode())}, body=body)
    content = b64url(compact({"alg": "HS256", "typ": "JWT"})) + "." + b64url(
        compact({"iat": NOW, "exp": NOW + 600, "app": "evolution", "action": "webhook"}))
    jwt = content + "." + b64url(mac(SECRET, content))
    yield dict(name="by JWT", url=at, headers={"Authorization": "Bearer " + jwt}, body=body,
               secrets={"EVOLUTION_JWT_KEY": SECRET})
    yield dict(name="by address", url=at, address="203.0.113.7", body=body,
               secrets={"EVOLUTION_NETWORKS": "203.0.113.0/24"}, other_secret="198.51.100.0/24")


def signing_key(kind):
    """A key pair of these vectors alone, from a file beside this program, which is made once."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ed25519, rsa
    file = os.path.join(os.path.dirname(os.path.abspath(__file__)), kind + ".key")
    if not os.path.exists(file):
        key = rsa.generate_private_key(65537, 2048) if kind == "rsa" else ed25519.Ed25519PrivateKey.generate()
        with open(file, "wb") as f:
            f.write(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                      serialization.NoEncryption()))
    with open(file, "rb") as f:
        return serialization.load_pem_private_key(f.read(), None)


def public_pem(key):
    from cryptography.hazmat.primitives import serialization
    return key.public_key().public_bytes(serialization.Encoding.PEM,
                                         serialization.PublicFormat.SubjectPublicKeyInfo).decode()


def rsa_sign(text, sha1=False):
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding
    return b64(signing_key("rsa").sign(text.encode(), padding.PKCS1v15(), hashes.SHA1() if sha1 else hashes.SHA256()))


@maker
def paypal():
    body = compact({"id": "WH-1", "event_type": "PAYMENT.CAPTURE.COMPLETED", "resource": {"id": "CAP1", "note": "café"}})
    crc, ident, at, webhook = zlib.crc32(body.encode()), "tid-1", "2025-10-09T08:53:20Z", "0EH40505U7160970P"
    cert = "https://api.paypal.com/v1/notifications/certs/CERT-360caa42-fca2a594-7a8abba8"
    headers = {"PAYPAL-TRANSMISSION-ID": ident, "PAYPAL-TRANSMISSION-TIME": at, "PAYPAL-CERT-URL": cert,
               "PAYPAL-AUTH-ALGO": "SHA256withRSA", "PAYPAL-TRANSMISSION-SIG": rsa_sign(f"{ident}|{at}|{webhook}|{crc}")}
    key = public_pem(signing_key("rsa"))
    yield dict(name="as documented", headers=headers, body=body, secret=webhook, other_secret="1AB23456CD789012E",
               certificate=key)
    yield dict(name="another host", headers={**headers, "PAYPAL-CERT-URL": cert.replace("api.paypal.com", "api.paypal.com.example.org")},
               body=body, secret=webhook, certificate=key, refused="foreign_certificate")
    yield dict(name="another path", headers={**headers, "PAYPAL-CERT-URL": cert.replace("/certs/", "/certs/../")},
               body=body, secret=webhook, certificate=key, refused="foreign_certificate")
    yield dict(name="no certificate", headers=headers, body=body, secret=webhook, refused="no_certificate")


@maker
def sns():
    topic = "arn:aws:sns:us-west-2:123456789012:Sample"
    cert = "https://sns.us-west-2.amazonaws.com/SimpleNotificationService-f3ecfb7224c7233fe7bb5f59f96de52f.pem"
    signed = ["Message", "MessageId", "Subject", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"]
    key = public_pem(signing_key("rsa"))

    def request(message, sha1=False, **change):
        text = "".join(f"{k}\n{message[k]}\n" for k in signed if k in message)
        whole = {**message, "SignatureVersion": "1" if sha1 else "2", "Signature": rsa_sign(text, sha1), "SigningCertURL": cert, **change}
        return dict(headers={"Content-Type": "text/plain; charset=UTF-8"}, body=json.dumps(whole, indent=2, ensure_ascii=False),
                    secret=topic, other_secret=topic + "2", certificate=key,
                    other_body=json.dumps({**whole, "Message": "other"}, indent=2))

    note = {"Type": "Notification", "MessageId": "m-1", "TopicArn": topic, "Subject": "Tür", "Message": "a\nb \"c\"",
            "Timestamp": "2025-10-09T08:53:20.000Z"}
    yield dict(name="a message", **request(note))
    yield dict(name="a message without a subject", **request({k: v for k, v in note.items() if k != "Subject"}))
    yield dict(name="a message by SHA-1", **request(note, sha1=True))
    yield dict(name="a subscription", **request({
        "Type": "SubscriptionConfirmation", "MessageId": "m-2", "Token": "2336412f37", "TopicArn": topic, "Message": "You have chosen",
        "SubscribeURL": "https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription", "Timestamp": "2025-10-09T08:53:20.000Z"}))
    yield dict(name="somebody else's topic", **request({**note, "TopicArn": topic.replace("Sample", "Other")}), refused="other_account")
    yield dict(name="somebody else's host", **request(note, SigningCertURL=cert.replace("amazonaws.com", "amazonaws.com.example.org")),
               refused="foreign_certificate")
    twice = request(note)
    twice["body"] = twice["body"].replace('{', '{"TopicArn": "x",', 1)
    yield dict(name="a field twice", **twice, refused="malformed_header")


@maker
def square():
    body, url = compact({"event_id": "e1", "type": "payment.created", "data": {"id": "p"}}), "https://hooks.example.com/webhooks/square"
    yield dict(name="as documented", url=url, headers={"X-Square-HmacSha256-Signature": b64(mac(SECRET, url, body))}, body=body)
    yield dict(name="signed for another address", url=url, headers={"X-Square-HmacSha256-Signature": b64(mac(SECRET, url + "/", body))},
               body=body, refused="bad_signature")


@maker
def okta():
    body = compact({"eventType": "com.okta.event_hook", "data": {"events": [{"uuid": "u1", "eventType": "user.lifecycle.create"}]}})
    yield dict(name="as documented", headers={"Authorization": SECRET}, body=body)


@maker
def auth0():
    body = compact([{"log_id": "1", "data": {"type": "s"}}])
    yield dict(name="as documented", headers={"Authorization": "Bearer of my stream"}, body=body, secret="Bearer of my stream")


@maker
def asana():
    body = compact({"events": [{"action": "added", "resource": {"gid": "1", "resource_type": "task"}}]})
    yield dict(name="as documented", headers={"X-Hook-Signature": mac(SECRET, body).hex()}, body=body)


@maker
def trello():
    body, url = compact({"action": {"id": "a1", "type": "createCard"}}), "https://hooks.example.com/webhooks/trello"
    yield dict(name="as documented", url=url, headers={"X-Trello-Webhook": b64(mac(SECRET, body, url, by="sha1"))}, body=body)


@maker
def zoom():
    body = compact({"event": "meeting.started", "event_ts": NOW * 1000, "payload": {"account_id": "a", "object": {"id": "9"}}})
    yield dict(name="as documented", body=body, headers={
        "x-zm-signature": "v0=" + mac(SECRET, f"v0:{NOW}:", body).hex(), "x-zm-request-timestamp": str(NOW)})


@maker
def hubspot():
    body, url, at = compact([{"eventId": 1, "subscriptionType": "contact.creation"}]), "https://hooks.example.com/webhooks/hubspot?a=1", NOW * 1000
    yield dict(name="as documented", url=url, body=body, headers={
        "X-HubSpot-Signature-v3": b64(mac(SECRET, "POST", url, body, str(at))), "X-HubSpot-Request-Timestamp": str(at)})


@maker
def meta():
    body = compact({"object": "whatsapp_business_account", "entry": [{"id": "1", "changes": []}]})
    yield dict(name="as documented", headers={"X-Hub-Signature-256": "sha256=" + mac(SECRET, body).hex()}, body=body)


@maker
def discord():
    from cryptography.hazmat.primitives import serialization
    key, body = signing_key("ed25519"), compact({"version": 1, "application_id": "1", "type": 0})
    raw = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw).hex()
    yield dict(name="as documented", secret=raw, other_secret=key_of_nobody(), body=body, headers={
        "X-Signature-Ed25519": key.sign(f"{NOW}{body}".encode()).hex(), "X-Signature-Timestamp": str(NOW)})


def key_of_nobody():
    return "3b6a27bcceb6a42d62a3a8d02a6f0d73653215771de243a63ac048a18b59da29"  # of a seed of zeros


@maker
def twitch():
    body, at, ident = compact({"subscription": {"id": "s", "type": "channel.follow"}, "event": {}}), "2025-10-09T08:53:20.123456789Z", "befa7b53-d79d"
    yield dict(name="as documented", body=body, headers={
        "Twitch-Eventsub-Message-Id": ident, "Twitch-Eventsub-Message-Timestamp": at, "Twitch-Eventsub-Message-Type": "notification",
        "Twitch-Eventsub-Message-Signature": "sha256=" + mac(SECRET, ident, at, body).hex()})


@maker
def mailgun():
    token = "a" * 50
    body = {"signature": {"timestamp": str(NOW), "token": token, "signature": mac(SECRET, str(NOW), token).hex()},
            "event-data": {"id": "1", "event": "delivered"}}
    other = {**body, "signature": {**body["signature"], "token": "b" * 50}}
    yield dict(name="as documented", body=compact(body), other_body=compact(other))


@maker
def vonage():
    body = compact({"message_uuid": "1", "status": "delivered"})
    content = b64url(compact({"alg": "HS256", "typ": "JWT"})) + "." + b64url(compact({
        "iat": NOW, "jti": "c5ba8f24-1a14-4c10-bfdf-3fbe8ce511b5", "iss": "Vonage", "api_key": "a1b2c3d",
        "payload_hash": hashlib.sha256(body.encode()).hexdigest()}))
    yield dict(name="as documented", headers={"Authorization": "Bearer " + content + "." + b64url(mac(SECRET, content))}, body=body)


@maker
def mailchimp():
    at, body = "https://hooks.example.com/webhooks/mailchimp", "type=subscribe&fired_at=2009-03-26+21%3A35%3A57&data%5Bid%5D=8a25ff1d98"
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    yield dict(name="in the query", url=at + "?key=q4erySecretOfVectors", secret="q4erySecretOfVectors", headers=form, body=body)
    yield dict(name="in the path", url=at + "/p4thS3cretOfVectors", secret="p4thS3cretOfVectors", headers=form, body=body)


@maker
def dockerhub():
    at, body = "https://hooks.example.com/webhooks/dockerhub", compact({"push_data": {"tag": "latest"}})
    yield dict(name="in the query", url=at + "?key=q4erySecretOfVectors", secret="q4erySecretOfVectors", body=body)
    yield dict(name="in the path", url=at + "/p4thS3cretOfVectors", secret="p4thS3cretOfVectors", body=body)


@maker
def airtable():
    key, body = b"the key of airtable's webhook, 32", compact({"base": {"id": "app0"}, "webhook": {"id": "ach0"}, "timestamp": "2022-02-01T21:25:05.663Z"})
    yield dict(name="as documented", secret=b64(key), headers={"X-Airtable-Content-MAC": "hmac-sha256=" + mac(key, body).hex()}, body=body)


@maker
def braintree():
    xml = '<notification><timestamp type="datetime">2025-10-09T08:53:20Z</timestamp><kind>check</kind></notification>'
    payload = base64.encodebytes(xml.encode()).decode()
    sign = mac(hashlib.sha1(SECRET.encode()).digest(), payload, by="sha1").hex()

    def form(payload, sign):
        return dict(headers={"Content-Type": "application/x-www-form-urlencoded"}, body=urllib.parse.urlencode(
            {"bt_signature": sign, "bt_payload": payload}))

    yield dict(name="as its library does it", other_body=form("x" + payload, "key|" + sign)["body"], **form(payload, "integration_public_key|" + sign))
    yield dict(name="by one of two keys", other_body=form("x" + payload, "key|" + sign)["body"], **form(payload, "other|" + "00" * 20 + "&integration_public_key|" + sign))


ORDER = ["name", "from", "source", "secret", "secrets", "other_secret", "time", "method", "url", "address", "headers", "body",
         "other_body", "certificate", "refused"]
OBSERVED = {"rentprog", "umnico"}
LIBRARY = {"calcom": "calcom/cal.com packages/features/webhooks/lib/sendPayload.ts", "evolution":
           "EvolutionAPI/evolution-api src/api/integrations/event/webhook/webhook.controller.ts",
           "square": "square wrapper/WebhooksHelper.js",
           "hubspot": "HubSpot/hubspot-api-nodejs src/utils/Signature.ts",
           "discord": "discord-interactions dist/index.js",
           "mailgun": "mailgun-go v4.23.0 webhooks.go",
           "zoom": "@zoom/rivet 0.4.0 (npm), AwsLambdaReceiver",
           "sns": "aws/aws-js-sns-message-validator index.js",
           "braintree": "braintree lib/braintree/webhook_notification_gateway.js"}


def write(name):
    for v in MAKERS[name]():
        v.setdefault("from", "observed" if name in OBSERVED else "library" if name in LIBRARY else "documentation")
        v.setdefault("source", "make.py" + (", as " + LIBRARY[name] if name in LIBRARY else ""))
        if "secrets" not in v:
            v.setdefault("secret", SECRET)
        v.setdefault("time", NOW)
        for i, field in enumerate(f for f in ORDER if f in v):
            print("- " if i == 0 else "  ", end="")
            if isinstance(v[field], dict):
                print(field + ":")
                for key, value in v[field].items():
                    print(f"    {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
            else:
                value = v[field]
                print(f"{field}: {value if isinstance(value, int) else json.dumps(value, ensure_ascii=False)}")


if __name__ == "__main__":
    write(sys.argv[1])
