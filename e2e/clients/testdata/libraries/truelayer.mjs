import { sign, verify } from "truelayer-signing";

// The key pair that TrueLayer publishes with its libraries (test-resources).
const kid = "45fc75cf-5649-4134-84b3-192c2c78e990";
const privateKeyPem = `-----BEGIN EC PRIVATE KEY-----
MIHcAgEBBEIBMJmRfU/nMzOnBnA6zXgdfpF6uWfYvOBCM4lUoxFDSFS6nqO3+X+R
42GJ8OzKzLr9+Iq238CL+2Bxw14f3jqiTtCgBwYFK4EEACOhgYkDgYYABACgu5bi
cWqhS5Hx3sVWxSgjraWJth1CVYa0tK2ep250tj3ZtDStrl5kBuS6esZNH37D2avi
jYS3JvqkLtgHb7bdYwF9XI5BjIpbYpD65F+PasLiQ3XBE2k7I/pMhT/I7BfVuVwA
d2eLQYkLXO9g0JyWHisgFf0+qmU7RSha/k6eIrvo+w==
-----END EC PRIVATE KEY-----
`;
const published = {
  keys: [
    {
      kty: "EC", alg: "ES512", kid, crv: "P-521",
      x: "oLuW4nFqoUuR8d7FVsUoI62libYdQlWGtLStnqdudLY92bQ0ra5eZAbkunrGTR9-w9mr4o2Etyb6pC7YB2-23WM",
      y: "AX1cjkGMiltikPrkX49qwuJDdcETaTsj-kyFP8jsF9W5XAB3Z4tBiQtc72DQnJYeKyAV_T6qZTtFKFr-Tp4iu-j7",
    },
  ],
};

// Nothing but the token in the path tells one customer from another.
const at = (url, token) => new URL(url.replace(/(\/truelayer).*/, `$1/${token}`));

export default {
  provider: "truelayer",
  secret: "token-of-the-tests-in-the-path",
  keys: published,
  sign: ({ url, headers, body }, secret) => {
    const called = at(url, secret);
    const signature = sign({ kid, privateKeyPem, method: "POST", path: called.pathname, headers, body });
    return { url: called.href, headers: { "tl-signature": signature } };
  },
  verify: ({ url, headers, body }, secret, keys) =>
    verify({
      jwks: JSON.stringify(keys), signature: headers["tl-signature"], method: "POST", path: at(url, secret).pathname, headers, body,
    }),
};
