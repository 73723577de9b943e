package ingress

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/ingress/intake"
)

// A body whose end is ambiguous is refused, and nothing after it is read as a request.
func TestAmbiguousBodiesAreRefused(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
	for name, request := range map[string]string{
		"a length and chunks":           "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"chunks and a length":           "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n1\r\nx\r\n0\r\n\r\n",
		"chunks in HTTP/1.0":            "POST /webhooks/stripe HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
		"no chunks in HTTP/1.0":         "POST /webhooks/stripe HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"an encoding that is none":      "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\n\r\n",
		"an encoding, none, a length":   "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity\r\nContent-Length: 1\r\n\r\nx",
		"two encodings in one":          "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"an encoding with a tab before": "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\tchunked\r\nContent-Length: 1\r\n\r\n0\r\n\r\n",
		"a folded header":               "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nX-Note: a\r\n b\r\nContent-Length: 0\r\n\r\n",
		"a header folded with a tab":    "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nX-Note: a\r\n\tb\r\nContent-Length: 0\r\n\r\n",
		"a folded length":               "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nX-Note: a\r\n Content-Length: 1\r\n\r\n",
		"a folded encoding":             "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
		"a folded first line":           "POST /webhooks/stripe HTTP/1.1\r\n X-Note: a\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
		"a line of white space":         "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\n \r\nContent-Length: 0\r\n\r\n",
		"a fold behind a bare LF":       "POST /webhooks/stripe HTTP/1.1\r\nHost: x\nX-Note: a\n b\r\nContent-Length: 0\r\n\r\n",
		"a space before the colon":      "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nContent-Length : 0\r\n\r\n",
		"a tab before the colon":        "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nTransfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n",
		"a version of the future":       "POST /webhooks/stripe HTTP/1.7\r\nHost: x\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n",
	} {
		answer := d.raw(t, request+smuggled)
		require.True(t, strings.HasPrefix(answer, "HTTP/1.1 400 "), "%s: %s", name, answer)
		require.Equal(t, 1, strings.Count(answer, "HTTP/1.1 "), "%s: %s", name, answer)
		require.Contains(t, answer, `"code":"bad_request"`, name)
		require.Contains(t, answer, "Connection: close", name)
	}
}

// An unknown method is answered like an unsupported one.
func TestAnUnknownMethodIsRefused(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	for _, method := range []string{"BREW", "post", "PROPFIND", "X"} {
		answer := d.raw(t, method+" /webhooks/stripe HTTP/1.1\r\nHost: x\r\nConnection: close\r\nX-Request-Id: tea-1\r\n\r\n")
		require.True(t, strings.HasPrefix(answer, "HTTP/1.1 405 "), "%s: %s", method, answer)
		require.Contains(t, answer, `"code":"method_not_allowed"`, method)
		require.Contains(t, answer, `"request_id":"tea-1"`, method)
		require.Contains(t, answer, "Allow: POST", method)
	}
}

// What fasthttp drops when it can't read a body is kept: the request's ID, and the provider, whose own statuses apply.
func TestABodyThatCannotBeReadIsItsProviders(t *testing.T) {
	t.Parallel()
	const definition = "name: homemade\nextends: standard-webhooks\nbody_limit: 1000\nreplies: {too_large: 422}\n"
	d := openDoor(t, definition, func(o *Options, _ *intake.Options) { o.BodyTimeout = 300 * time.Millisecond })
	const head = "POST /webhooks/homemade HTTP/1.1\r\nHost: x\r\nX-Correlation-Id: chain-9\r\nX-Request-Id: "
	for id, c := range map[string]struct{ rest, status string }{
		"unread-chunks":  {"Transfer-Encoding: chunked\r\n\r\n800\r\n" + strings.Repeat("x", 0x800) + "\r\n0\r\n\r\n", "422"},
		"unread-broken":  {"Transfer-Encoding: chunked\r\n\r\nzz\r\n", "400"},
		"unread-late":    {"Content-Length: 9\r\n\r\nx", "408"},
		"unread-trailer": {"Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n", "408"},
		"unread-length":  {"Content-Length: 1001\r\n\r\n", "422"},
	} {
		answer := d.raw(t, head+id+"\r\n"+c.rest)
		require.True(t, strings.HasPrefix(answer, "HTTP/1.1 "+c.status), "%s: %s", id, answer)
		require.Contains(t, answer, `"request_id":"`+id+`"`, id)
		require.Contains(t, answer, "X-Correlation-Id: chain-9", id)
		require.Contains(t, logged.line(id), `"provider":"homemade"`, id)
	}
}

// Headers and body have separate timeouts: a body that takes longer than the headers may is accepted.
func TestHeadersAndBodyHaveATimeEach(t *testing.T) {
	t.Parallel()
	const head = "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\n"
	slowHeaders := openDoor(t, "", func(o *Options, _ *intake.Options) { o.HeaderTimeout, o.BodyTimeout = 200*time.Millisecond, time.Hour })
	require.Contains(t, slowHeaders.raw(t, head), "HTTP/1.1 408 ")
	slowBody := openDoor(t, "", func(o *Options, _ *intake.Options) { o.HeaderTimeout, o.BodyTimeout = time.Hour, 200*time.Millisecond })
	require.Contains(t, slowBody.raw(t, head+"Content-Length: 9\r\n\r\nx"), "HTTP/1.1 408 ")
}

// A sender that sends Expect: 100-continue gets the refusal of a body that is too large instead of a 100.
func TestATooLargeBodyIsNotRequested(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	const head = "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nX-Request-Id: first-1\r\n"
	answer := d.raw(t, head+"Content-Length: 300000\r\n\r\n")
	require.True(t, strings.HasPrefix(answer, "HTTP/1.1 413 "), answer)
	require.Contains(t, answer, `"code":"body_too_large"`)
	require.Contains(t, answer, `"request_id":"first-1"`)
	require.Equal(t, 1, strings.Count(answer, "HTTP/1.1 "), answer)
	answer = d.raw(t, head+"Connection: close\r\nContent-Length: 1\r\n\r\nx")
	require.True(t, strings.HasPrefix(answer, "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 401 "), answer)
}

// A sender that writes all of a body that is too large before it reads gets the answer instead of a reset.
func TestABodyThatIsTooLargeIsAnswered(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	const length = 3 << 20 // more than the buffers between both ends hold
	connection, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	require.NoError(t, err)
	defer func() { _ = connection.Close() }()
	_, err = fmt.Fprintf(connection, "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s",
		length, strings.Repeat("x", length))
	require.NoError(t, err)
	answer, err := io.ReadAll(connection)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(string(answer), "HTTP/1.1 413 "), string(answer))
}

// A content encoding on a second header line counts.
func TestACompressedBodyCannotHide(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	answer := d.raw(t, "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Encoding: identity\r\n"+
		"Content-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx")
	require.True(t, strings.HasPrefix(answer, "HTTP/1.1 415 "), answer)
}

// After a body that can't be read nothing on the connection is a request, even if it looks like one.
func TestNothingFollowsABrokenBody(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "name: homemade\nextends: standard-webhooks\nbody_limit: 1000\n")
	const head = "POST /webhooks/homemade HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
	for name, body := range map[string]string{
		"a size below zero": "-1\r\n0\r\n\r\n",
		"no size":           "zz\r\n0\r\n\r\n",
		"too large":         "800\r\n" + strings.Repeat("x", 0x800) + "\r\n0\r\n\r\n",
	} {
		answer := d.raw(t, head+body+"GET /smuggled HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		require.Equal(t, 1, strings.Count(answer, "HTTP/1.1 "), "%s: %s", name, answer)
		require.Contains(t, answer, "Connection: close", name)
	}
}
