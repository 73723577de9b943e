package ingress

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/ingress/intake"
	"holdfast/providers"
	"holdfast/providers/auth"
)

// A request with every possible fault is refused for the first one; each fix gets it one check further: method, route, length,
// provider, the client's rate, encoding, authentication, the provider's rate, start.
func TestChecksComeInTheirOrder(t *testing.T) {
	t.Parallel()
	unavailable := func(_ *Options, in *intake.Options) { in.StartTimeout = time.Nanosecond }
	const both = "name: homemade\nextends: standard-webhooks\nclient_rate: {requests: 1, per: 1h}\nrate: {requests: 1, per: 1h}\n" +
		"body_limit: 1000\n"
	long := strings.Repeat("x", 1001)
	for _, c := range []struct {
		name, definition, method, path, body, encoding string
		sign, used                                     bool
		status                                         int
		code                                           code
	}{
		{"method before route", both, "GET", "/nowhere", "", "gzip", false, true, 405, codeMethodNotAllowed},
		{"route before all that follows", both, "POST", "/nowhere", note, "gzip", false, true, 404, codeNotFound},
		{"provider before its rate", both, "POST", "/webhooks/nobody", note, "gzip", false, true, 404, codeUnknownProvider},
		{"length before rate", both, "POST", "/webhooks/homemade", long, "gzip", false, true, 413, codeTooLarge},
		{"the client's rate before encoding", both, "POST", "/webhooks/homemade", note, "gzip", false, true, 429, codeRateLimited},
		{"encoding before authentication", both, "POST", "/webhooks/homemade", note, "gzip", false, false, 415, codeEncoding},
		{
			"authentication before the provider's rate", strings.Replace(both, "client_rate: {requests: 1,", "client_rate: {requests: 9,", 1),
			"POST", "/webhooks/homemade", note, "", false, true, 401, codeUnauthenticated,
		},
		{
			"the provider's rate before the start", strings.Replace(both, "client_rate: {requests: 1,", "client_rate: {requests: 9,", 1),
			"POST", "/webhooks/homemade", note, "", true, true, 429, codeRateLimited,
		},
		{"the start", both, "POST", "/webhooks/homemade", note, "", true, false, 503, codeUnavailable},
	} {
		d := openDoor(t, c.definition, unavailable)
		d.before = func(event.Receipt) error { return context.DeadlineExceeded }
		if c.used {
			d.deliver(t, "homemade", "/webhooks/homemade", note, true, "webhook-id", "msg_first")
		}
		p, _ := d.catalogue.Lookup("homemade")
		r := &auth.Request{Method: c.method, Path: c.path, Body: []byte(c.body), Header: map[string][]string{}}
		if c.sign {
			require.NoError(t, p.Sign(r, secret, time.Now()))
		}
		if c.encoding != "" {
			r.Header["content-encoding"] = []string{c.encoding}
		}
		got := d.post(t, r)
		require.Equal(t, c.status, got.status, "%s: %s", c.name, got.raw)
		require.Equal(t, c.code, got.Error.Code, c.name)
		require.Empty(t, d.receipts("homemade"), c.name)
	}
}

// Requests with a wrong signature don't use up the provider's rate.
func TestStrangersCannotUseUpAProvidersRate(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "name: homemade\nextends: standard-webhooks\nrate: {requests: 2, per: 1h}\n")
	send := func(sign bool, id string) reply {
		return d.deliver(t, "homemade", "/webhooks/homemade", note, sign, "webhook-id", id)
	}
	for range 10 {
		require.Equal(t, 401, send(false, "msg").status)
	}
	require.Equal(t, 202, send(true, "msg_1").status)
	require.Equal(t, 202, send(true, "msg_2").status)
	limited := send(true, "msg_3")
	require.Equal(t, 429, limited.status)
	require.Equal(t, "1800", limited.header.Get("Retry-After"))
}

// A client that forges another address in each request still counts as one client.
func TestAForgedAddressBuysNoRoom(t *testing.T) {
	t.Parallel()
	const definition = "name: homemade\nextends: standard-webhooks\nclient_rate: {requests: 3, per: 1h}\n"
	for _, trusted := range [][]string{nil, {"10.0.0.0/8"}} {
		d := openDoor(t, definition, func(o *Options, _ *intake.Options) { o.TrustedProxies = trusted })
		for k := range 6 {
			forged := "198.51.100." + string(rune('1'+k))
			got := d.deliver(t, "homemade", "/webhooks/homemade", note, false, "x-forwarded-for", forged, "forwarded", "for="+forged,
				"x-real-ip", forged)
			want := 401
			if k >= 3 {
				want = 429
			}
			require.Equal(t, want, got.status)
		}
	}
	d := openDoor(t, definition, func(o *Options, _ *intake.Options) { o.TrustedProxies = []string{"127.0.0.0/8"} })
	for k := range 6 {
		got := d.deliver(t, "homemade", "/webhooks/homemade", note, false, "x-forwarded-for", "198.51.100."+string(rune('1'+k)))
		require.Equal(t, 401, got.status, "our own proxy is believed")
	}
}

// A definition's reply table applies to every answer, including those sent before the handlers run.
func TestTheReplyTableIsTheDefinitions(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "name: homemade\nextends: standard-webhooks\nbody_limit: 1000\nclient_rate: {requests: 5, per: 1h}\n"+
		"replies: {accepted: 201, duplicate: 208, unauthentic: 498, too_large: 422, rate_limited: 420, unavailable: 599}\n")
	send := func(sign bool, id, body string) reply {
		return d.deliver(t, "homemade", "/webhooks/homemade", body, sign, "webhook-id", id)
	}
	require.Equal(t, 201, send(true, "msg_1", note).status)
	require.Equal(t, 208, send(true, "msg_1", note).status)
	require.Equal(t, 498, send(false, "msg_1", note).status)
	large := send(true, "msg_1", strings.Repeat("x", 1001))
	require.Equal(t, 422, large.status)
	require.Equal(t, codeTooLarge, large.Error.Code)
	d.before = func(event.Receipt) error { return io.ErrUnexpectedEOF }
	require.Equal(t, 599, send(true, "msg_2", note).status)
	d.before = func(event.Receipt) error { panic(canary) }
	require.Equal(t, 599, send(true, "msg_3", note).status)
	require.Equal(t, 420, send(true, "msg_4", note).status)
}

// A stored event is answered with 200; one that isn't stored is not.
func TestRentProg_getsNo2xxForAnUnstoredEvent(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	d.before = func(event.Receipt) error { return io.ErrUnexpectedEOF }
	require.Equal(t, 503, d.post(t, tokened("/api/rentprog/webhook", carUpdate)).status)
	d.before = nil
	require.Equal(t, 200, d.post(t, tokened("/api/rentprog/webhook", carUpdate)).status)
}

// A request that can't be read completely is named, logged and counted like any other.
func TestUnreadableDeliveriesAreObserved(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "", func(o *Options, _ *intake.Options) { o.BodyTimeout = 300 * time.Millisecond })
	for name, c := range map[string]struct {
		request, id string
		status      string
		code        code
	}{
		"a length over the limit": {
			"POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nX-Request-Id: long-1\r\nContent-Length: 9999999\r\n\r\n", "long-1", "413", codeTooLarge,
		},
		"a body that does not come": {
			"POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nX-Request-Id: slow-1\r\nContent-Length: 9\r\n\r\nx", "slow-1", "408", codeTimeout,
		},
		"no HTTP": {"hello\r\n\r\n", "", "400", codeBadRequest},
		"endless headers": {
			"POST / HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 20<<10) + "\r\n\r\n", "", "431", codeHeadersTooLarge,
		},
	} {
		answer := d.raw(t, c.request)
		require.True(t, strings.HasPrefix(answer, "HTTP/1.1 "+c.status), "%s: %s", name, answer)
		require.Contains(t, answer, `"code":"`+string(c.code)+`"`, name)
		require.NotContains(t, answer, `"request_id":""`, name)
		require.True(t, logged.has(`"reason":"`+string(c.code)+`","status":`+c.status), name)
		if c.id != "" {
			require.True(t, logged.has(`"request_id":"`+c.id+`"`), name)
			require.Contains(t, answer, "X-Request-Id: "+c.id, name)
			require.Contains(t, answer, `"request_id":"`+c.id+`"`, name)
		}
	}
}

// raw sends bytes and returns the answer, up to the end of the connection.
func (d *door) raw(t *testing.T, request string) string {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	require.NoError(t, err)
	defer func() { _ = connection.Close() }()
	require.NoError(t, connection.SetDeadline(time.Now().Add(10*time.Second)))
	go func() { _, _ = io.WriteString(connection, request) }() // the server may answer before it has read everything
	var answer bytes.Buffer
	_, _ = io.Copy(&answer, connection) // ends with a reset if not everything was read
	return answer.String()
}

// A panic anywhere affects only its own request; its value, which may be a piece of a payload, is logged nowhere.
func TestAPanicIsAnsweredWhereverItHappens(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "", func(o *Options, _ *intake.Options) { o.Catalogue = panicking{o.Catalogue} })
	for _, path := range []string{"/webhooks/panic", "/webhooks/secrets"} {
		got := d.post(t, &auth.Request{Method: "POST", Path: path, Body: []byte(note), Header: map[string][]string{
			"webhook-signature": {"v1,x"}, "webhook-id": {"x"}, "webhook-timestamp": {"1"},
		}})
		require.Equal(t, 503, got.status, path)
		require.Equal(t, codeInternal, got.Error.Code, path)
		require.NotContains(t, got.raw, canary, path)
	}
	require.False(t, logged.has(canary))
	require.Equal(t, 202, d.deliver(t, "standard-webhooks", "/webhooks/standard-webhooks", note, true, "webhook-id", "x").status)
}

// panicking panics when it looks up one provider, and has another whose secrets panic.
type panicking struct{ Catalogue }

func (c panicking) ByPath(path string) (*providers.Provider, map[string]string, bool) {
	switch path {
	case "/webhooks/panic":
		panic(canary)
	case "/webhooks/secrets":
		all := c.Catalogue.(*providers.Catalogue).WithSecrets(func(string) []string { panic(canary) })
		return all.ByPath("/webhooks/standard-webhooks")
	}
	return c.Catalogue.ByPath(path)
}

// The sender hangs up while its event is being started: the start continues.
func TestAStartOutlivesItsSender(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "")
	begun, release, outcome := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	d.during = func(ctx context.Context) {
		close(begun)
		<-release
		outcome <- ctx.Err()
	}
	p, _ := d.catalogue.Lookup("standard-webhooks")
	r := &auth.Request{Body: []byte(note), Header: map[string][]string{"webhook-id": {"msg_1"}}}
	require.NoError(t, p.Sign(r, secret, time.Now()))
	request, err := http.NewRequest(http.MethodPost, d.url+"/webhooks/standard-webhooks", bytes.NewReader(r.Body))
	require.NoError(t, err)
	for name, values := range r.Header {
		request.Header[http.CanonicalHeaderKey(name)] = values
	}
	ctx, hangUp := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if response, err := (&http.Client{}).Do(request.WithContext(ctx)); err == nil {
			_ = response.Body.Close()
		}
	}()
	<-begun
	hangUp()
	<-gone
	close(release)
	require.Eventually(t, func() bool { return len(d.receipts("standard-webhooks")) == 1 }, 5*time.Second, 5*time.Millisecond)
	require.NoError(t, <-outcome, "the start's context is not the request's")
}

// A server that is shut down before it serves doesn't begin to serve.
func TestShutdownCanComeFirst(t *testing.T) {
	t.Parallel()
	server, err := New(Options{Intake: newIntake(t, intake.Options{}), BodyLimit: 1, MaxConns: 1})
	require.NoError(t, err)
	require.NoError(t, server.Shutdown(t.Context()))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, server.Serve(listener))
}

// A client certificate counts only in the header of a trusted proxy: that of anyone else is removed, and nothing reads it.
func TestOnlyATrustedProxyShowsACertificate(t *testing.T) {
	t.Parallel()
	const definition = "name: homemade\nsecrets: HOMEMADE_SECRET\nauth: [{client_certificate: {header: x-client-cert}}]\n" +
		"type: .body.type\nkey: {parts: [.body.id]}\n"
	for _, c := range []struct {
		trusted []string
		shown   string
		status  int
	}{
		{[]string{"127.0.0.0/8"}, secret, 202}, {[]string{"127.0.0.0/8"}, "CN=somebody else", 401}, {[]string{"10.0.0.0/8"}, secret, 401}, {nil, secret, 401},
	} {
		d := openDoor(t, definition, func(o *Options, _ *intake.Options) { o.TrustedProxies = c.trusted })
		body := `{"id":"1","type":"a"}`
		got := d.deliver(t, "homemade", "/webhooks/homemade", body, false, "x-client-cert", c.shown, "x-forwarded-for", "127.0.0.1")
		require.Equal(t, c.status, got.status, "%v", c)
		again := d.deliver(t, "homemade", "/webhooks/homemade", body, false, "X-CLIENT-CERT", c.shown)
		require.Equal(t, c.status == 202, again.status < 300, "%v", c)
	}
}
