#!/usr/bin/env python3
"""Makes vectors for senders whose tokens have certificates or sign the request, and of mail, as make.py does."""

import datetime
import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID, ObjectIdentifier

from make_more import multipart
from make_tokens import *

ORDER.insert(ORDER.index("certificate"), "root")
if "repeated" not in ORDER:
    ORDER.insert(ORDER.index("body"), "repeated")
LIBRARY.update({
    "mailgun-routes": "mailgun-go v4.23.0 (Go), VerifyWebhookSignature",
    "app-store": "@apple/app-store-server-library 3.1.0 (npm), SignedDataVerifier.verifyAndDecodeNotification",
    "truelayer": "truelayer-signing 0.2.3 (npm), verify",
    "sendgrid-inbound": "@sendgrid/eventwebhook 8.0.0 (npm), EventWebhook.verifySignature",
    "x": "twitter-autohook 1.7.2 (npm), validateSignature",
})


def certificate(subject, key, issuer, issuer_key, mark=None, ca=True):
    def name(text):
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    b = x509.CertificateBuilder().subject_name(name(subject)).issuer_name(name(issuer)).public_key(key.public_key())
    b = b.serial_number(x509.random_serial_number()).not_valid_before(datetime.datetime(2025, 1, 1))
    b = b.not_valid_after(datetime.datetime(2026, 1, 1)).add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    if mark:
        b = b.add_extension(x509.UnrecognizedExtension(ObjectIdentifier(mark), b"\x05\x00"), critical=False)
    return b.sign(issuer_key, hashes.SHA256())


def der(*certificates):
    return [b64(c.public_bytes(serialization.Encoding.DER)) for c in certificates]


@maker
def app_store():
    leaf_mark, issuer_mark = "1.2.840.113635.100.6.11.1", "1.2.840.113635.100.6.2.1"
    root_key, issuer_key = (ec.generate_private_key(ec.SECP384R1()) for _ in range(2))
    root = certificate("root", root_key, "root", root_key)
    issuer = certificate("issuer", issuer_key, "root", root_key, issuer_mark)
    leaf = certificate("leaf", EC256, "issuer", issuer_key, leaf_mark, ca=False)
    unmarked = certificate("leaf", EC256, "issuer", issuer_key, ca=False)
    own = certificate("root", EC256, "root", EC256)
    forged = certificate("leaf", EC256, "root", EC256, leaf_mark, ca=False)
    plain = certificate("leaf", EC256, "root", root_key, leaf_mark, ca=False)
    large_key = ec.generate_private_key(ec.SECP384R1())
    large = certificate("leaf", large_key, "issuer", issuer_key, leaf_mark, ca=False)

    def payload(**more):
        return dict({"notificationType": "DID_RENEW", "notificationUUID": "002e14d5-51f5-4503-b5a8-c3a1af68eb20", "version": "2.0",
                     "signedDate": NOW * 1000,
                     "data": {"appAppleId": 41234, "bundleId": "com.example", "environment": "Production", "status": 1}}, **more)

    def vector(name, chain=(leaf, issuer, root), claims=None, key=EC256, head=None, **more):
        head = dict({"alg": "ES256", "x5c": der(*chain)}, **(head or {}))
        return dict(dict(name=name, secrets={"APP_STORE_BUNDLE_ID": "com.example"}, root=PEM(root),
                         body=compact({"signedPayload": token(key, head, {k: v for k, v in (claims or payload()).items() if v is not None})}),
                         other_body=compact({"signedPayload": token(EC521, head, payload())})), **more)

    def PEM(c):
        return c.public_bytes(serialization.Encoding.PEM).decode()

    data = payload()["data"]
    yield vector("as documented")
    yield vector("a summary", claims=dict(payload(), data=None, summary={"appAppleId": 41234, "bundleId": "com.example", "environment": "Production"}))
    yield vector("a token of an external purchase", claims=dict(
        payload(), data=None, notificationType="EXTERNAL_PURCHASE_TOKEN", externalPurchaseToken={"appAppleId": 41234, "bundleId": "com.example"}))
    yield vector("certificates that have expired since", time=NOW + 86400 * 365)
    yield vector("another app", claims=payload(data=dict(data, bundleId="com.other")), refused="other_account")
    yield vector("the sandbox", claims=payload(data=dict(data, environment="Sandbox")), refused="wrong_claim")
    yield vector("signed after the certificates have expired", claims=payload(signedDate=1767225720000), time=1767225800,
                 refused="wrong_certificate")
    yield vector("signed before the certificates were valid", claims=payload(signedDate=1735600000000), refused="wrong_certificate")
    yield vector("signed in the future", claims=payload(signedDate=(NOW + 120) * 1000), refused="timestamp_in_future")
    yield vector("without the time of signing", claims=payload(signedDate=None), refused="malformed_token")
    yield vector("a root of its own", (forged, own), refused="wrong_certificate")
    yield vector("a root of its own next to the right one", (forged, own, root), refused="wrong_certificate")
    yield vector("a signer that isn't marked", (unmarked, issuer, root), refused="wrong_certificate")
    yield vector("no issuer between signer and root", (plain, root), refused="wrong_certificate")
    yield vector("the issuer signs", (issuer, root), refused="bad_token")
    yield vector("no certificates", head={"x5c": None}, refused="wrong_certificate")
    yield vector("another signer than in the chain", key=EC521, refused="bad_token")
    yield vector("a certificate of another curve", (large, issuer, root), refused="bad_token")
    yield vector("another algorithm", head={"alg": "ES512"}, refused="malformed_token")
    yield dict(vector("two tokens", refused="malformed_header"), body='{"signedPayload":"a.b.c",' + vector("x")["body"][1:])


@maker
def truelayer():
    path, body = "/webhooks/truelayer/t0kenOfVectors", compact({"type": "payment_executed", "event_id": "e1", "payment_id": "p1"})
    headers = {"X-TL-Webhook-Timestamp": "2025-10-09T08:53:20Z", "Content-Type": "application/json"}

    def signature(names=("X-TL-Webhook-Timestamp", "Content-Type"), at=path, method="POST", key=EC521, body=body, **head):
        head = dict({"alg": "ES512", "kid": "ec-5", "tl_version": "2", "tl_headers": ",".join(names),
                     "jku": "https://webhooks.truelayer.com/.well-known/jwks"}, **head)
        lines = "".join(f"{n}: {headers[n]}\n" for n in names if n in headers)
        text = b64url(compact(head))
        signed = sign_bytes(key, (text + "." + b64url(f"{method} {at}\n{lines}{body}")).encode())
        return text + ".." + b64url(signed)

    def vector(name, given=None, **more):
        return dict(dict(name=name, secret="t0kenOfVectors", url="https://hooks.example.com" + path, keys=KEYS,
                         headers=dict(headers, **{"Tl-Signature": given or signature()}), body=body), **more)

    whole = signature().split(".")
    yield vector("as documented")
    yield vector("no header is named", signature(names=()))
    yield vector("another address of keys", signature(jku="https://evil.example.com/jwks"))
    yield vector("a payload in the token", ".".join([whole[0], b64url("POST"), whole[2]]), refused="malformed_token")
    yield vector("the path of another customer", signature(at="/webhooks/truelayer/other"), refused="bad_token")
    yield vector("another token in the path", url="https://hooks.example.com/webhooks/truelayer/other", refused="other_account")
    yield vector("no token in the path", url="https://hooks.example.com/webhooks/truelayer", refused="missing_token")
    yield vector("another method", signature(method="GET"), refused="bad_token")
    yield vector("another body", signature(body=body + " "), refused="bad_token")
    yield vector("a named header that is missing", signature(names=("X-Missing",)), refused="missing_id")
    yield vector("a header named twice", signature(names=("Content-Type", "content-type")), refused="malformed_token")
    yield vector("a named header that is there twice", repeated={"X-TL-Webhook-Timestamp": "2025-10-09T08:53:21Z"},
                 refused="ambiguous_header")
    yield vector("version 1", signature(tl_version="1"), refused="wrong_claim")
    yield vector("by an unknown key", signature(kid="other"), refused="bad_token")
    yield vector("a key of another curve", signature(key=EC256, kid="ec-1"), refused="bad_token")
    yield vector("another algorithm", signature(key=EC256, kid="ec-1", alg="ES256"), refused="malformed_token")
    yield vector("keys that can't be fetched", keys="", refused="no_keys")


@maker
def x():
    body = compact({"for_user_id": "1001", "favorite_events": [{"id": "a1", "timestamp_ms": NOW * 1000}]})
    yield dict(name="as documented", headers={"x-twitter-webhooks-signature": "sha256=" + b64(mac(SECRET, body))}, body=body)
    yield dict(name="in hex", headers={"x-twitter-webhooks-signature": "sha256=" + mac(SECRET, body).hex()}, body=body,
               refused="malformed_signature")


@maker
def mailgun_routes():
    token, at = "a" * 50, str(NOW)
    sign, other = mac(SECRET, at, token).hex(), "token=" + "b" * 50

    def form(**more):
        fields = dict({"recipient": "in@example.com", "subject": "Größe", "timestamp": at, "token": token, "signature": sign}, **more)
        return urllib.parse.urlencode(fields)

    head = {"Content-Type": "application/x-www-form-urlencoded"}
    yield dict(name="as documented", headers=head, body=form(), other_body=form(token="b" * 50))
    parts = [('name="subject"', "x"), ('name="attachment-1"; filename="a.pdf"', "%PDF"), ('name="timestamp"', at),
             ('name="signature"', sign)]
    yield dict(name="with a file", headers={"Content-Type": "multipart/form-data; boundary=b0undary"},
               body=multipart("b0undary", *parts, ('name="token"', token)), other_body=multipart("b0undary", *parts, ('name="token"', "b" * 50)))
    yield dict(name="two tokens", headers=head, body=form() + "&" + other, refused="malformed_header")


@maker
def sendgrid_inbound():
    body = multipart("xYzZY", ('name="headers"', "Message-ID: <1@example.com>\n"), ('name="envelope"', '{"to":["in@example.com"]}'))
    public = b64(EC256.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo))
    key = {"SENDGRID_INBOUND_VERIFICATION_KEY": public}
    headers = {"Content-Type": "multipart/form-data; boundary=xYzZY", "X-Twilio-Email-Event-Webhook-Timestamp": str(NOW),
               "X-Twilio-Email-Event-Webhook-Signature": b64(EC256.sign((str(NOW) + body).encode(), ec.ECDSA(hashes.SHA256())))}
    other = b64(ec.generate_private_key(ec.SECP256R1()).public_key().public_bytes(
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo))
    yield dict(name="as documented", secrets=key, other_secret=other, headers=headers, body=body)
    token = {"SENDGRID_INBOUND_TOKEN": "t0kenOfVectors"}
    unsigned = {"from": "documentation", "source": "make.py", "headers": {"Content-Type": headers["Content-Type"]}}
    yield dict(unsigned, name="with a token", secrets=token, body=body, url=AT + "sendgrid-inbound/t0kenOfVectors")
    yield dict(unsigned, name="without a token", secrets=token, body=body, url=AT + "sendgrid-inbound", refused="missing_token")


if __name__ == "__main__":
    write(sys.argv[1])
