package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What is not authentic, or not for us, or not HTTP:
//   - each gets its status and code
//   - none leaves anything behind: no row, no workflow, no key
//   - none of them keeps the authentic event with the same ID from being processed afterwards
func TestHostileRequestsStoreNothing(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, "STRIPE_WEBHOOK_SECRET="+secret+",whsec_the_second_one_of_a_rotation")
	n := i.start(t, "serve")
	id := uniqueID("evt")
	body := customerUpdated(id, uniqueID("cus"), "Ada", time.Now())
	now := time.Now()
	good := sign(body, secret, now)
	mac := good[strings.Index(good, "v1=")+3:]
	stamp := fmt.Sprintf("t=%d", now.Unix())
	changed := bytes.Replace(body, []byte("Ada"), []byte("Bob"), 1)

	for name, c := range map[string]struct {
		path, signature string
		body            []byte
		status          int
		code            string
	}{
		"no signature":                 {body: body, status: 401, code: "unauthenticated"},
		"an empty signature":           {body: body, signature: stamp + ",v1=", status: 401, code: "unauthenticated"},
		"a truncated signature":        {body: body, signature: stamp + ",v1=" + mac[:32], status: 401, code: "unauthenticated"},
		"no timestamp":                 {body: body, signature: "v1=" + mac, status: 401, code: "unauthenticated"},
		"the fake scheme v0":           {body: body, signature: stamp + ",v0=" + mac, status: 401, code: "unauthenticated"},
		"another secret":               {body: body, signature: sign(body, "whsec_another", now), status: 401, code: "unauthenticated"},
		"a signature of long ago":      {body: body, signature: sign(body, secret, now.Add(-time.Hour)), status: 401, code: "unauthenticated"},
		"a signature of the future":    {body: body, signature: sign(body, secret, now.Add(time.Hour)), status: 401, code: "unauthenticated"},
		"a changed byte":               {body: changed, signature: good, status: 401, code: "unauthenticated"},
		"a byte more":                  {body: append(bytes.Clone(body), ' '), signature: good, status: 401, code: "unauthenticated"},
		"an empty body":                {body: nil, signature: good, status: 401, code: "unauthenticated"},
		"an unknown provider":          {path: "/webhooks/nobody", body: body, signature: good, status: 404, code: "unknown_provider"},
		"another provider's path":      {path: "/webhooks/standard-webhooks", body: body, signature: good, status: 401, code: "unauthenticated"},
		"no path of ours":              {path: "/admin", body: body, signature: good, status: 404, code: "not_found"},
		"a secret of another rotation": {body: body, signature: sign(body, "whsec_the_third_one", now), status: 401, code: "unauthenticated"},
	} {
		path := c.path
		if path == "" {
			path = "/webhooks/stripe"
		}
		a, err := n.post(path, c.body, "Stripe-Signature", c.signature)
		require.NoError(t, err, name)
		require.Equal(t, c.status, a.status, name)
		require.Equal(t, c.code, a.Error.Code, name)
		require.NotEmpty(t, a.header.Get("X-Request-Id"), name)
	}
	n.assertRawRequestsAreRefused(t)
	i.assertNothingStored(t)

	a, err := n.post("/webhooks/stripe", body, "Stripe-Signature", sign(body, "whsec_the_second_one_of_a_rotation", now))
	require.NoError(t, err)
	require.Equal(t, 202, a.status, "both secrets of a rotation are good")
	require.Equal(t, "accepted", a.state())
	i.awaitCount(t, 30*time.Second, 1, processedEvents)

	require.NotContains(t, n.log.String(), secret)
	require.NotContains(t, n.log.String(), "Bob")
	require.NotContains(t, n.log.String(), "Ada")
}

// assertRawRequestsAreRefused sends what a client of HTTP would not.
func (n *node) assertRawRequestsAreRefused(t *testing.T) {
	t.Helper()
	address := strings.TrimPrefix(n.ingress, "http://")
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"a method that is not POST": {"GET /webhooks/stripe HTTP/1.1\r\nHost: x\r\n\r\n", 405},
		"a chunked body over the limit": {"POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" +
			strings.Repeat("8000\r\n"+strings.Repeat("x", 0x8000)+"\r\n", 9) + "0\r\n\r\n", 413},
		"a declared length over the limit": {"POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nContent-Length: 262145\r\n\r\n", 413},
		"the same for no provider":         {"POST /nowhere HTTP/1.1\r\nHost: x\r\nContent-Length: 262145\r\n\r\n", 413},
		"a compressed body":                {"POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx", 415},
		"two lengths":                      {"POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 400},
		"a negative length":                {"POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
		"headers without end":              {"POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 20<<10) + "\r\n\r\n", 431},
		"two signatures, both wrong":       {"POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nStripe-Signature: a\r\nStripe-Signature: b\r\nContent-Length: 1\r\n\r\nx", 401},
	} {
		connection, err := net.Dial("tcp", address)
		require.NoError(t, err, name)
		require.NoError(t, connection.SetDeadline(time.Now().Add(10*time.Second)))
		go func() { _, _ = io.WriteString(connection, c.request) }() // the server may answer before it has read all
		answer, err := io.ReadAll(io.LimitReader(connection, 12))
		require.NoError(t, err, name)
		require.Equal(t, fmt.Sprintf("HTTP/1.1 %d", c.status), string(answer), name)
		require.NoError(t, connection.Close(), name)
	}
}

// A refusal tells its reader what to do, and carries the request's own ID.
func TestARefusalIsReadable(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	n := i.start(t, "ingress")
	a, err := n.post("/webhooks/nobody", []byte("{}"), "X-Request-Id", "request-7", "X-Correlation-Id", "chain-1")
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, a.status)
	require.Equal(t, "chain-1", a.header.Get("X-Correlation-Id"))
	var body map[string]map[string]string
	require.NoError(t, json.Unmarshal(a.body, &body))
	require.Equal(t, "request-7", body["error"]["request_id"])
	require.NotEmpty(t, body["error"]["message"])
}
