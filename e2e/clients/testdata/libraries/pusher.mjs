import Pusher from "pusher";

const client = (secret) => new Pusher({ appId: "1", key: "key of the tests", secret, cluster: "eu" });

export default {
  provider: "pusher",
  secret: "the app's secret of the tests",
  verify: ({ body, headers }, secret) =>
    client(secret).webhook({ rawBody: body, headers: { ...headers, "x-pusher-key": "key of the tests" } }).isValid(),
};
