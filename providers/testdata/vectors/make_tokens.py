#!/usr/bin/env python3
"""Makes vectors with tokens and published keys, as make.py does: python3 make_tokens.py NAME prints those of NAME.yaml.

The keys are rsa.key, and ec256.key and ec521.key for the curves: whoever has them can sign as these senders in tests.
"""

import sys

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature

from make import *
from make_more import AT

ORDER.insert(ORDER.index("certificate"), "keys")
LIBRARY.update({
    "google-pubsub": "google-auth-library 11.3.4 (npm), OAuth2Client.verifySignedJwtWithCertsAsync",
    "kinde": "@kinde/webhooks 1.0.0 (npm), decodeWebhook",
})


def load(name):
    with open(os.path.join(os.path.dirname(__file__), name), "rb") as f:
        return serialization.load_pem_private_key(f.read(), None)


RSA, EC256, EC521 = load("rsa.key"), load("ec256.key"), load("ec521.key")


def number(n, size=None):
    return b64url(n.to_bytes(size or (n.bit_length() + 7) // 8, "big"))


def ec_jwk(key, curve, size, **more):
    n = key.public_key().public_numbers()
    return dict({"kty": "EC", "crv": curve, "x": number(n.x, size), "y": number(n.y, size)}, **more)


def jwk_rsa(**more):
    n = RSA.public_key().public_numbers()
    return dict({"kty": "RSA", "n": number(n.n), "e": number(n.e)}, **more)


KEYS = compact({"keys": [
    jwk_rsa(kid="rsa-1", use="sig", alg="RS256"), ec_jwk(EC256, "P-256", 32, kid="ec-1"), ec_jwk(EC521, "P-521", 66, kid="ec-5", alg="ES512"),
    {"kty": "AKP", "alg": "ML-DSA-44", "kid": "odd", "pub": "AA"},
]})


def sign_bytes(key, content):
    if key is RSA:
        return key.sign(content, padding.PKCS1v15(), hashes.SHA256())
    size, by = (32, hashes.SHA256()) if key is EC256 else (66, hashes.SHA512())
    r, s = decode_dss_signature(key.sign(content, ec.ECDSA(by)))
    return r.to_bytes(size, "big") + s.to_bytes(size, "big")


def token(key, header, payload):
    content = b64url(compact(header)) + "." + b64url(compact(payload) if not isinstance(payload, str) else payload)
    return content + "." + b64url(sign_bytes(key, content.encode()))


@maker
def google_pubsub():
    body = compact({"message": {"attributes": {"eventType": "OBJECT_FINALIZE"}, "data": "", "messageId": "1"}, "subscription": "s"})
    claims = {"aud": "https://hooks.example.com/webhooks/google-pubsub", "azp": "113774264463038321964",
              "email": "push@shop.iam.gserviceaccount.com", "email_verified": True, "exp": NOW + 3600, "iat": NOW,
              "iss": "https://accounts.google.com", "sub": "113774264463038321964"}
    head = {"alg": "RS256", "kid": "rsa-1", "typ": "JWT"}
    secrets = {"GOOGLE_PUBSUB_SERVICE_ACCOUNT": claims["email"], "GOOGLE_PUBSUB_AUDIENCE": claims["aud"]}

    def vector(name, claims, **more):
        return dict(name=name, secrets=secrets, keys=KEYS, headers={"Authorization": "Bearer " + token(RSA, head, claims)}, body=body, **more)

    yield vector("as documented", claims)
    yield vector("another's service account", dict(claims, email="push@other.iam.gserviceaccount.com"), refused="other_account")
    yield vector("another audience", dict(claims, aud="https://other.example.com"), refused="wrong_claim")
    yield vector("an address that isn't verified", dict(claims, email_verified=False), refused="wrong_claim")
    yield dict(vector("keys that can't be fetched", claims, refused="no_keys"), keys="")


@maker
def plaid():
    body = json.dumps({"webhook_type": "ITEM", "webhook_code": "ERROR", "item_id": "i1", "environment": "production"}, indent=2)
    head = {"alg": "ES256", "kid": "ec-1", "typ": "JWT"}
    claims = {"iat": NOW, "request_body_sha256": hashlib.sha256(body.encode()).hexdigest()}
    secrets = {"PLAID_SECRET": "5bb0e1d2c3f4a5b6c7d8e9f0a1b2c3", "PLAID_CLIENT_ID": "5bb0e1d2c3f4a5b6c7d8e9f0", "PLAID_ENVIRONMENT": "production"}
    for name, key, header, payload, refused in (
        ("as documented", EC256, head, claims, None), ("six minutes old", EC256, head, dict(claims, iat=NOW - 361), "expired_token"),
        ("the hash of another body", EC256, head, dict(claims, request_body_sha256="0" * 64), "bad_signature"),
        ("RS256 with a published key", RSA, {"alg": "RS256", "kid": "rsa-1"}, claims, "malformed_token"),
    ):
        v = dict(name=name, secrets=secrets, keys=KEYS, headers={"Plaid-Verification": token(key, header, payload)}, body=body)
        yield dict(v, refused=refused) if refused else v


@maker
def kinde():
    head = {"alg": "RS256", "kid": "rsa-1", "typ": "JWT"}
    event = {"type": "user.created", "event_id": "event_1", "event_timestamp": "2025-10-09T08:53:20.123456Z",
             "data": {"user": {"id": "kp_1", "first_name": "Zoë"}}}
    body = token(RSA, head, event)
    vector = dict(secrets={"KINDE_DOMAIN": "shop.kinde.com"}, keys=KEYS, headers={"Content-Type": "application/jwt"},
                  other_body=token(RSA, head, dict(event, type="x"))[:-4] + "AAAA")
    yield dict(vector, name="as documented", body=body)
    yield dict(vector, name="a payload put in place of the signed one", refused="bad_token",
               body=".".join([body.split(".")[0], b64url(compact(dict(event, event_id="event_2"))), body.split(".")[2]]))


@maker
def microsoft_graph():
    item = {"subscriptionId": "s1", "changeType": "created", "resource": "Users/u1/Messages/m1", "clientState": SECRET, "tenantId": "t1"}
    bare = {k: v for k, v in item.items() if k != "clientState"}
    secrets = {"MICROSOFT_GRAPH_CLIENT_STATE": SECRET, "MICROSOFT_GRAPH_APP_ID": "8e460676-ae3f-4b1e-8790-ee0fb5d6148f"}
    ours, sender = secrets["MICROSOFT_GRAPH_APP_ID"], "0bf30f3b-4a52-48df-9a82-234910c4a086"

    def vector(name, items, tokens=None, **more):
        body = dict({"value": items}, **({"validationTokens": tokens} if tokens else {}))
        return dict(dict(name=name, secrets=secrets, keys=KEYS, body=compact(body)), **more)

    def signed(**claims):
        return token(RSA, {"alg": "RS256", "kid": "rsa-1", "typ": "JWT"}, dict({"aud": ours, "exp": NOW + 3600, "nbf": NOW, "azp": sender}, **claims))

    yield vector("two with the state", [item, dict(item, changeType="updated")])
    yield vector("one without the state", [item, bare], refused="malformed_token", secrets={"MICROSOFT_GRAPH_CLIENT_STATE": SECRET})
    yield vector("another state", [item, dict(item, clientState="another state of vectors")], refused="bad_token")
    yield vector("a token of version 2", [bare], [signed()])
    yield vector("a token of version 1", [bare], [signed(azp=None, appid=sender)])
    yield vector("a token for another app", [bare], [signed(aud="00000000-0000-0000-0000-000000000000")], refused="other_account")
    yield vector("a token of another app", [bare], [signed(azp=ours)], refused="wrong_claim")
    yield vector("a token that has expired", [bare], [signed(exp=NOW - 3600)], refused="expired_token")
    yield dict(vector("keys that can't be fetched", [bare], [signed()], refused="no_keys"), keys="")


if __name__ == "__main__":
    write(sys.argv[1])
