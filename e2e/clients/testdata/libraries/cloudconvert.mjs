import CloudConvert from "cloudconvert";

const { webhooks } = new CloudConvert("key of the tests");

export default {
  provider: "cloudconvert",
  secret: "the signing secret of the tests",
  verify: ({ body, headers }, secret) => webhooks.verify(body, headers["cloudconvert-signature"], secret),
};
