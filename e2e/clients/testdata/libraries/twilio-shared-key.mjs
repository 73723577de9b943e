import twilio from "twilio";

// A shared key signs in place of the auth token. A header names its algorithm.
const settings = "key=webhooks_sharedkey_SAMPLE,algorithm=HMAC_SHA256";
const isForm = (headers) => headers["content-type"] === "application/x-www-form-urlencoded";
const fields = (body) => Object.fromEntries(new URLSearchParams(body));

export default {
  provider: "twilio",
  secret: "a shared key of thirty-two bytes",
  sign: ({ body, headers, url }, secret) => {
    if (!isForm(headers)) url += "?bodySHA256=" + twilio.getExpectedBodyHash(body);
    const algorithm = twilio.getSignatureAlgorithm(settings);
    const signature = twilio.getExpectedTwilioSignature(secret, url, isForm(headers) ? fields(body) : {}, algorithm);
    return { url, headers: { "x-twilio-signature": signature, "x-twilio-webhooks-signature-settings": settings } };
  },
};
