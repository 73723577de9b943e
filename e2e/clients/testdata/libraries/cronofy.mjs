import Cronofy from "cronofy";

export default {
  provider: "cronofy",
  secret: "the client secret of the tests",
  verify: ({ body, headers }, client_secret) => new Cronofy({ client_secret }).hmacValid({ hmac: headers["cronofy-hmac-sha256"], body }),
};
