import { MailerSendUtils } from "../node_modules/mailersend/lib/services/mailersend.utils.js";

export default {
  provider: "mailersend",
  secret: "the signing secret of the tests",
  verify: ({ body, headers }, secret) => MailerSendUtils.verifyWebHook(Buffer.from(body), headers.signature, secret),
};
