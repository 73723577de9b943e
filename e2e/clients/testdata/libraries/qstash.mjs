import { Receiver } from "@upstash/qstash";

export default {
  provider: "qstash",
  secret: "sig_of_the_tests_0123456789abcdef",
  verify: ({ body, headers }, nextSigningKey) =>
    new Receiver({ currentSigningKey: "sig_that_has_been_rotated", nextSigningKey }).verify({ signature: headers["upstash-signature"], body }),
};
