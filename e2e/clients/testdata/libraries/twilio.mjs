import twilio from "twilio";

// The fields of a form are signed one by one; any other body by its hash in the URL.
const isForm = (headers) => headers["content-type"] === "application/x-www-form-urlencoded";
const fields = (body) => Object.fromEntries(new URLSearchParams(body));

export default {
  provider: "twilio",
  secret: "12345678901234567890123456789012",
  sign: ({ body, headers, url }, secret) => {
    if (!isForm(headers)) url += "?bodySHA256=" + twilio.getExpectedBodyHash(body);
    const signature = twilio.getExpectedTwilioSignature(secret, url, isForm(headers) ? fields(body) : {});
    return { url, headers: { "x-twilio-signature": signature } };
  },
  verify: ({ body, headers, url }, secret) =>
    isForm(headers)
      ? twilio.validateRequest(secret, headers["x-twilio-signature"], url, fields(body))
      : twilio.validateRequestWithBody(secret, headers["x-twilio-signature"], url, body),
};
