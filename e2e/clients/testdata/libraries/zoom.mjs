import { AwsLambdaReceiver } from "@zoom/rivet/users";

// Of its receivers, this one needs no server. It verifies the parsed body, printed again.
export default {
  provider: "zoom",
  secret: "the secret token of the tests",
  verify: async ({ body, headers }, webhooksSecretToken) => {
    const { statusCode } = await new AwsLambdaReceiver({ webhooksSecretToken }).start()({ body, headers });
    return statusCode === 200;
  },
};
