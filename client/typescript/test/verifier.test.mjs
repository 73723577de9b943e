import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";
import { VerificationError, Verifier } from "../dist/index.js";

const newKey = Buffer.from("new secret of the tests");
const oldKey = Buffer.from("old secret of the tests");
const secretOf = (key) => "whsec_" + key.toString("base64");
const seconds = () => Math.floor(Date.now() / 1000);

// signedWith returns the headers of a delivery that the keys have signed.
function signedWith(at, body, ...keys) {
  const signature = keys
    .map((key) => "v1," + createHmac("sha256", key).update(`msg_1.${at}.`).update(body).digest("base64"))
    .join(" ");
  return { "webhook-id": "msg_1", "webhook-timestamp": String(at), "webhook-signature": signature };
}

const refuses = (code) => (error) => error instanceof VerificationError && error.code === code;

test("a delivery names the secret that signed it", () => {
  const verifier = new Verifier([newKey, oldKey].map(secretOf));
  const at = seconds();
  const body = Buffer.from("caf\xe9", "latin1");
  for (const [secret, keys] of [[oldKey, newKey], [oldKey]].entries()) {
    const want = { id: "msg_1", sentAt: new Date(at * 1000), secret };
    assert.deepEqual(verifier.verify(signedWith(at, body, ...keys), body), want);
    assert.deepEqual(verifier.verify(new Headers(signedWith(at, body, ...keys)), new Uint8Array(body)), want);
  }
});

test("the example of the specification's libraries", () => {
  const headers = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  };
  const verifier = new Verifier(["MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"], { tolerance: Infinity });
  assert.equal(verifier.verify(headers, Buffer.from('{"test": 2432232314}')).secret, 0);
});

test("other requests are refused", () => {
  const verifier = new Verifier([secretOf(newKey)]);
  const body = Buffer.from("{}");
  const headers = signedWith(seconds(), body, newKey);
  assert.throws(() => verifier.verify(signedWith(seconds(), body, oldKey), body), refuses("no_matching_signature"));
  assert.throws(() => verifier.verify(headers, Buffer.from("{ }")), refuses("no_matching_signature"));
  assert.throws(() => verifier.verify({}, body), refuses("missing_header"));
  assert.throws(() => verifier.verify({ ...headers, "webhook-timestamp": "now" }, body), refuses("invalid_timestamp"));
  for (const signature of ["v1", "v1,", "v2" + headers["webhook-signature"].slice(2), "é"]) {
    assert.throws(() => verifier.verify({ ...headers, "webhook-signature": signature }, body), refuses("no_matching_signature"));
  }
});

test("the tolerance is kept", () => {
  const verifier = new Verifier([secretOf(newKey)]);
  for (const [age, code] of [[240], [-240], [360, "too_old"], [-360, "too_new"]]) {
    const verify = () => verifier.verify(signedWith(seconds() - age, "", newKey), Buffer.alloc(0));
    code ? assert.throws(verify, refuses(code)) : verify();
  }
  const patient = new Verifier([secretOf(newKey)], { tolerance: 3_600_000 });
  patient.verify(signedWith(seconds() - 360, "", newKey), Buffer.alloc(0));
});

test("unusable secrets are refused", () => {
  for (const secrets of [[], [""], ["whsec_"], [secretOf(newKey), "whsec_not base64"]]) {
    assert.throws(() => new Verifier(secrets), (error) => error instanceof TypeError && !error.message.includes("not base64"));
  }
});
