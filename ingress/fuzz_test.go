package ingress

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"

	"holdfast/activities"
	"holdfast/event"
	"holdfast/ingress/intake"
	"holdfast/ingress/limits"
	"holdfast/providers"
	"holdfast/providers/auth"
)

// fuzzed is a complete ingress, from the first byte of a connection to the start of a workflow.
type fuzzed struct {
	server    *Server
	catalogue *providers.Catalogue
	log       *recorder
	started   *fakeStarter
}

const publicURL = "https://hooks.example.com"

func newFuzzed(f *testing.F) *fuzzed {
	f.Helper()
	catalogue, err := providers.Load("")
	require.NoError(f, err)
	z := &fuzzed{catalogue: catalogue.WithSecrets(func(string) []string { return []string{secret} })}
	z.server, err = New(Options{
		Intake: newIntake(f, intake.Options{
			CommitTimeout: time.Minute, StartTimeout: time.Minute, AckBudget: time.Minute, Breaker: intake.NewBreaker(100),
		}),
		Catalogue: z.catalogue, HeaderTimeout: time.Minute, BodyTimeout: time.Minute,
		WriteTimeout: time.Minute, IdleTimeout: time.Minute, BodyLimit: 4 << 10, MaxConns: 100, PublicURL: publicURL,
	})
	require.NoError(f, err)
	z.server.app.Handler() // builds Fiber's routes, as listening would
	f.Cleanup(func() { slog.SetDefault(slog.New(slog.NewJSONHandler(logged, nil))) })
	return z
}

// conversation is a connection whose peer has already sent everything.
type conversation struct {
	net.Conn

	sent    io.Reader
	answers bytes.Buffer
}

func (c *conversation) Read(p []byte) (int, error)       { return c.sent.Read(p) }
func (c *conversation) Write(p []byte) (int, error)      { return c.answers.Write(p) }
func (c *conversation) Close() error                     { return nil }
func (c *conversation) SetDeadline(time.Time) error      { return nil }
func (c *conversation) SetReadDeadline(time.Time) error  { return nil }
func (c *conversation) SetWriteDeadline(time.Time) error { return nil }
func (c *conversation) LocalAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 80}
}
func (c *conversation) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.IPv4(203, 0, 113, 7), Port: 4711}
}

// receive returns the statuses of the answers to what a connection sends. Each must be JSON of ours or a reply of a definition.
func (z *fuzzed) receive(t *testing.T, sent []byte) (statuses []int) {
	t.Helper()
	z.started, z.log = newFakeStarter(), &recorder{}
	z.server.Intake.Starter = z.started
	rates, err := limits.New(nil) // no client is limited because of earlier inputs
	require.NoError(t, err)
	z.server.limits = rates
	slog.SetDefault(slog.New(slog.NewJSONHandler(z.log, nil)))
	c := &conversation{sent: bytes.NewReader(sent)}
	_ = z.server.app.Server().ServeConn(c) // the sender's fault
	if bytes.Contains(sent, []byte("HEAD")) {
		return nil // an answer to HEAD has no body, and the answer doesn't show the method
	}
	for reader := bufio.NewReader(&c.answers); ; {
		if _, err := reader.Peek(1); err != nil {
			break
		}
		response, err := http.ReadResponse(reader, nil)
		require.NoError(t, err, "an answer is no HTTP")
		if response.StatusCode == http.StatusContinue {
			continue
		}
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		requireOurs(t, response, body)
		statuses = append(statuses, response.StatusCode)
	}
	for _, hidden := range []string{secret, canary, "request.panicked"} {
		require.False(t, z.log.has(hidden), "the log has %q", hidden)
	}
	return statuses
}

// requireOurs asserts that an answer is one of the few forms that senders can get.
func requireOurs(t *testing.T, response *http.Response, body []byte) {
	t.Helper()
	if response.StatusCode < 300 && !strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		return // a definition's reply to a challenge
	}
	require.True(t, json.Valid(body), "status %d: %q", response.StatusCode, body)
	if response.StatusCode >= 300 {
		var refused refusalBody
		require.NoError(t, json.Unmarshal(body, &refused))
		require.Contains(t, refusals, refused.Error.Code)
		require.NotEmpty(t, refused.Error.RequestID)
	}
	require.NotContains(t, []int{500, 502, 503}, response.StatusCode, "%s", body)
	require.NotContains(t, string(body), canary)
	require.NotContains(t, string(body), secret)
}

// FuzzConnection: whatever a connection sends, the answers are ours, nothing panics, and nothing is started, because nothing is
// signed. No part of a body reaches a log.
func FuzzConnection(f *testing.F) {
	z := newFuzzed(f)
	for _, head := range []string{
		"POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\nStripe-Signature: t=1,v1=00\r\nContent-Length: 2\r\n\r\n{}",
		"POST /webhooks/github HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nX-Hub-Signature-256: sha256=00\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
		"POST /webhooks/slack?a=%zz HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nHost: y\r\n\r\n",
		"POST /webhooks/hmac HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
		"PUT http://h/webhooks/umnico/x HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 1.1.1.1\r\nTraceparent: 00-x\r\nX-Request-Id: r\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x00\xa5\x01\x00", "GET /\r\n\r\n",
	} {
		f.Add([]byte(head))
	}
	f.Fuzz(func(t *testing.T, sent []byte) {
		z.receive(t, append(bytes.Clone(sent), canary...))
		require.Empty(t, z.started.started)
	})
}

var workflowIDs = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,200}$`)

// FuzzSignedRequest: every signed request is accepted, unless it is too large, under an ID that Temporal accepts and with its
// own bytes; and it is parsed, or rejected with the right reason.
func FuzzSignedRequest(f *testing.F) {
	z := newFuzzed(f)
	names := z.catalogue.Names()
	for k := range names {
		f.Add(uint8(k), "application/json", `{"id":"evt_1","type":"a.b","created":1,"data":{"id":"1","object":{"id":"c","object":"customer"}}}`)
		f.Add(uint8(k), "application/x-www-form-urlencoded", `payload=%7B%22action%22%3A%22x%22%7D&MessageSid=SM1`)
	}
	f.Add(uint8(0), "text/plain; charset=\"", "[[[[{\"\\u0000\":1e999999999,\"\xff\":\xc0}]]]]")
	f.Add(uint8(0), "", "")
	f.Fuzz(func(t *testing.T, provider uint8, contentType, body string) {
		name := names[int(provider)%len(names)]
		request, ok := z.sign(name, contentType, body)
		if !ok {
			return
		}
		statuses := z.receive(t, request)
		if len(body) > z.server.BodyLimit {
			return // most definitions have their own limits
		}
		require.Len(t, statuses, 1)
		if statuses[0] == 400 && !strings.HasPrefix(strings.TrimSpace(string(event.WithoutMark([]byte(body)))), "{") {
			return // it is empty, or not an object
		}
		require.Less(t, statuses[0], 300, "%s: %q", name, z.log.line("event.received"))
		for id, r := range z.started.started {
			require.Regexp(t, workflowIDs, id)
			p, _ := z.catalogue.Lookup(r.Provider)
			require.Equal(t, name, p.Name())
			require.Contains(t, body, string(z.started.bodies[id]))
			worker := activities.Activities{Catalogue: z.catalogue}
			parsed, err := worker.ParseEvent(t.Context(), r, payloadOf(z.started.bodies[id]))
			switch {
			case err == nil:
				require.NotEmpty(t, parsed.Type)
			case !strings.HasPrefix(event.CodeOf(err), "jq_"): // an expression failed, which its author may fix
				require.Equal(t, event.ClassRejected, event.ClassOf(err), "%s: %v", name, err)
			}
		}
	})
}

// sign returns an authentic request as bytes; ok is false if the content type isn't a valid header or the provider signs
// nothing.
func (z *fuzzed) sign(name, contentType, body string) (request []byte, ok bool) {
	if strings.ContainsFunc(contentType, func(c rune) bool { return c < ' ' || c > '~' }) || len(contentType) > 1000 {
		return nil, false
	}
	p, _ := z.catalogue.Lookup(name)
	path := "/webhooks/" + name
	r := &auth.Request{Method: "POST", Path: path, URL: publicURL + path, Body: []byte(body), Header: map[string][]string{
		"content-type": {strings.TrimSpace(contentType)}, "webhook-id": {"msg_1"}, "svix-id": {"msg_1"},
	}}
	if p.Sign(r, secret, time.Now()) != nil || string(r.Body) != body { // a signature within the body changes it
		return nil, false
	}
	if with := p.Bound(func(string) []string { return []string{secret} }); with.Authenticate(r, time.Now()) != nil {
		return nil, false // only its sender can sign
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: x\r\n", strings.TrimPrefix(r.URL, publicURL))
	for k, v := range r.Header {
		fmt.Fprintf(&b, "%s: %s\r\n", k, v[0])
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return b.Bytes(), true
}

// payloadOf returns a body in the form that a worker receives.
func payloadOf(body []byte) converter.RawValue {
	return converter.NewRawValue(&commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingBinary)}, Data: body,
	})
}
