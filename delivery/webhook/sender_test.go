package webhook

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"holdfast/delivery"
	"holdfast/event"
)

// A standard endpoint accepts requests, also while a secret is being replaced. It sees each attempt under the same ID with a new
// signature.
func TestReceiversByTheBook(t *testing.T) {
	t.Parallel()
	endpoint := newEndpoint(t, nil)
	s := newTestSender(t)
	byTheBook := func(secret string) *standardwebhooks.Webhook {
		w, err := standardwebhooks.NewWebhook(secret)
		require.NoError(t, err)
		return w
	}
	made := NewSecret()
	for _, c := range []struct {
		name    string
		signed  []string
		accepts []string
		refuses []string
	}{
		{"one secret", []string{newestSecret}, []string{newestSecret}, []string{olderSecret}},
		{"while one rotates", []string{newestSecret, olderSecret}, []string{newestSecret, olderSecret}, []string{made}},
		{"one of our making", []string{made}, []string{made}, []string{newestSecret}},
		{"one of a variable, without its prefix", []string{strings.TrimPrefix(made, "whsec_")}, []string{made}, nil},
	} {
		target := to(endpoint.URL)
		target.Secrets = c.signed
		if strings.Contains(c.name, "variable") {
			target.Destination.HTTP.Secrets = "CRM_SECRET"
		}
		got := endpoint.deliver(t, s, target, messageOf(`{"a": 1}`))
		require.Len(t, strings.Fields(got.Header.Get("Webhook-Signature")), len(c.signed), c.name)
		for _, secret := range c.accepts {
			require.NoError(t, byTheBook(secret).Verify(got.body, got.Header), c.name)
		}
		for _, secret := range c.refuses {
			require.Error(t, byTheBook(secret).Verify(got.body, got.Header), c.name)
		}
		require.Equal(t, eventID, got.Header.Get("Webhook-Id"))
	}

	s.now = func() time.Time { return time.Now().Add(-time.Hour) }
	early := endpoint.deliver(t, s, to(endpoint.URL), messageOf(`{}`))
	require.ErrorContains(t, byTheBook(newestSecret).Verify(early.body, early.Header), "too old")
	s.now = time.Now
	late := endpoint.deliver(t, s, to(endpoint.URL), messageOf(`{}`))
	require.NoError(t, byTheBook(newestSecret).Verify(late.body, late.Header))
	require.Equal(t, early.Header.Get("Webhook-Id"), late.Header.Get("Webhook-Id"))

	s.Send(t.Context(), to(endpoint.URL), jobOf(2), messageOf(`{}`))
	again := <-endpoint.got
	require.Equal(t, eventID+"-2", again.Header.Get("Webhook-Id"))
	require.NoError(t, byTheBook(newestSecret).Verify(again.body, again.Header))

	own := jobOf(2)
	own.HasOwnID = true
	s.Send(t.Context(), to(endpoint.URL), own, messageOf(`{}`))
	again = <-endpoint.got
	require.Equal(t, own.Key.ID()+"-2", again.Header.Get("Webhook-Id"))
	require.Equal(t, eventID, again.Header.Get("Holdfast-Event-Id"))
	require.NoError(t, byTheBook(newestSecret).Verify(again.body, again.Header))
}

// The endpoint gets the ID of an earlier event that the event may repeat; without one, the header is missing.
func TestADeliveryNamesAPossibleDuplicate(t *testing.T) {
	t.Parallel()
	endpoint := newEndpoint(t, nil)
	s := newTestSender(t)
	m := messageOf(`{}`)
	require.Empty(t, endpoint.deliver(t, s, to(endpoint.URL), m).Header.Values("Holdfast-Possible-Duplicate-Of"))
	m.PossibleDuplicateOf = "01a20420-8214-7954-a306-37620c4044b5"
	require.Equal(t, m.PossibleDuplicateOf, endpoint.deliver(t, s, to(endpoint.URL), m).Header.Get("Holdfast-Possible-Duplicate-Of"))
}

func TestNewSecretsDiffer(t *testing.T) {
	t.Parallel()
	one, other := NewSecret(), NewSecret()
	require.NotEqual(t, one, other)
	require.Len(t, one, len("whsec_")+32)
}

// Bytes leave as they came; an envelope and what jq makes are JSON.
func TestBodies(t *testing.T) {
	t.Parallel()
	endpoint := newEndpoint(t, nil)
	s := newTestSender(t)
	raw := `{"n": 12345678901234567890,  "text": "<é>"}` + "\n"
	bare := messageOf(raw)
	bare.Receipt.Headers = nil
	form := messageOf("a=1&b=2")
	form.Receipt.Headers = map[string]string{"content-type": "application/x-www-form-urlencoded"}
	broken := messageOf(raw)
	broken.Receipt.Headers = map[string]string{"content-type": "text/plain\r\nx: y"}
	for _, c := range []struct {
		name, body, kind, want string
		message                delivery.Message
	}{
		{"raw", "", "application/json; charset=utf-8", raw, messageOf(raw)},
		{"raw by name", "raw", "application/json; charset=utf-8", raw, messageOf(raw)},
		{"raw without a type", "", "application/json", raw, bare},
		{"raw with a type that no header holds", "", "application/json", raw, broken},
		{"a form", "", "application/x-www-form-urlencoded", "a=1&b=2", form},
		{"nothing", "", "application/json; charset=utf-8", "", messageOf("")},
		{"jq", "{number: .body.n, is: .event.type}", "application/json", `{"is":"customer.updated","number":12345678901234567890}`,
			messageOf(raw)},
		{"jq of a form", ".body.a", "application/json", `"1"`, form},
		{"jq that gives several", ".body[]", "application/json", `12345678901234567890`, messageOf(raw)},
		{"jq that gives nothing", "empty", "application/json", `null`, messageOf(raw)},
	} {
		target := to(endpoint.URL)
		target.Subscription.Body = c.body
		got := endpoint.deliver(t, s, target, c.message)
		require.Equal(t, c.want, string(got.body), c.name)
		require.Equal(t, c.kind, got.Header.Get("Content-Type"), c.name)
		require.EqualValues(t, len(c.want), got.ContentLength, c.name)
	}

	target := to(endpoint.URL)
	target.Subscription.Body = "envelope"
	got := endpoint.deliver(t, s, target, messageOf(raw))
	var envelope map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(got.body, &envelope))
	require.JSONEq(t, `"customer.updated"`, string(envelope["type"]))
	require.Contains(t, string(envelope["data"]), "12345678901234567890")
}

// What an event does not give is final, without anything of the event in the text.
func TestBodiesThatCannotBeMade(t *testing.T) {
	t.Parallel()
	endpoint := newEndpoint(t, nil)
	s := newTestSender(t)
	for _, body := range []string{`error("secret")`, `.body.a.b`, `[range(1e9)]`, `"secret" * 2e6`, `not jq (`} {
		target := to(endpoint.URL)
		target.Subscription.Body = body
		result := s.Send(t.Context(), target, jobOf(0), messageOf(`{"a": "secret"}`))
		require.Equal(t, delivery.Final, result.Kind, body)
		require.Equal(t, "body_error", result.Code, body)
		require.NotContains(t, result.Error, "secret", body)
	}
	require.Empty(t, endpoint.got)
}

// Each request tells who sends it and what for, and carries the trace. Headers of the destination are sent, but cannot take the
// place of what is signed.
func TestHeaders(t *testing.T) {
	t.Parallel()
	endpoint := newEndpoint(t, nil)
	s := newTestSender(t)
	target := to(endpoint.URL + "/hooks?tenant=7")
	target.Destination.HTTP.Headers = map[string]string{
		"X-Tenant": "acme", "authorization": "Bearer token", "Webhook-Id": "forged", "WEBHOOK-SIGNATURE": "v1,forged",
		"Content-Type": "application/vnd.acme+json", "User-Agent": "acme/1",
	}
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: 1})
	ctx := trace.ContextWithSpanContext(t.Context(), span)
	require.Equal(t, delivery.OK, s.Send(ctx, target, jobOf(0), messageOf(`{}`)).Kind)
	got := <-endpoint.got
	require.Equal(t, "/hooks?tenant=7", got.RequestURI)
	require.Equal(t, http.MethodPost, got.Method)
	for name, want := range map[string]string{
		"X-Tenant": "acme", "Authorization": "Bearer token", "Webhook-Id": eventID, "Content-Type": "application/vnd.acme+json",
		"User-Agent": "acme/1", "Traceparent": "00-" + span.TraceID().String() + "-" + span.SpanID().String() + "-01",
	} {
		require.Equal(t, []string{want}, got.Header[name])
	}
	require.NotContains(t, got.Header.Get("Webhook-Signature"), "forged")
	require.Empty(t, got.Header.Get("Accept-Encoding"))

	require.Equal(t, "Holdfast/1.2.3", endpoint.deliver(t, s, to(endpoint.URL), messageOf(`{}`)).Header.Get("User-Agent"))
}

// Attempts one after another take one connection, also where an answer is as long as what is kept of it.
func TestConnectionsAreKept(t *testing.T) {
	t.Parallel()
	answer := strings.Repeat("a", delivery.MaxAnswer-1)
	endpoint := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) })
	s := newTestSender(t)
	made := map[string]bool{}
	for range 20 {
		result := s.Send(t.Context(), to(endpoint.URL), jobOf(0), messageOf(`{}`))
		require.Equal(t, answer, string(result.Answer))
		made[(<-endpoint.got).RemoteAddr] = true
	}
	require.Len(t, made, 1)
}

// Each answer has its class, and patience that is asked for is kept within bounds.
func TestAnswersHaveAClass(t *testing.T) {
	t.Parallel()
	var head http.Header
	var status int
	endpoint := newEndpoint(t, func(w http.ResponseWriter, _ *http.Request) {
		for name, values := range head {
			w.Header()[name] = values
		}
		w.WriteHeader(status)
		if status != http.StatusNoContent && status != http.StatusNotModified {
			_, _ = w.Write([]byte("said \x00 so"))
		}
	})
	s := newTestSender(t)
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for _, c := range []struct {
		status int
		header string
		value  string
		kind   delivery.Kind
		least  time.Duration
		most   time.Duration
	}{
		{status: 200, kind: delivery.OK},
		{status: 201, kind: delivery.OK},
		{status: 202, kind: delivery.OK},
		{status: 204, kind: delivery.OK},
		{status: 299, kind: delivery.OK},
		{status: 301, kind: delivery.Bad},
		{status: 302, kind: delivery.Bad, header: "Location", value: endpoint.URL + "/elsewhere"},
		{status: 304, kind: delivery.Bad},
		{status: 307, kind: delivery.Bad, header: "Location", value: endpoint.URL + "/elsewhere"},
		{status: 400, kind: delivery.Bad},
		{status: 401, kind: delivery.Bad},
		{status: 404, kind: delivery.Bad},
		{status: 409, kind: delivery.Bad},
		{status: 410, kind: delivery.Gone},
		{status: 413, kind: delivery.Bad},
		{status: 429, kind: delivery.Busy},
		{status: 429, kind: delivery.Busy, header: "Retry-After", value: "120", least: 2 * time.Minute, most: 2 * time.Minute},
		{status: 429, kind: delivery.Busy, header: "Retry-After", value: "86400", least: time.Hour, most: time.Hour},
		{status: 429, kind: delivery.Busy, header: "Retry-After", value: "9223372036854775807", least: time.Hour, most: time.Hour},
		{status: 429, kind: delivery.Busy, header: "Retry-After", value: "99999999999999999999", least: time.Hour, most: time.Hour},
		{status: 429, kind: delivery.Busy, header: "Retry-After", value: "-5"},
		{status: 429, kind: delivery.Busy, header: "Retry-After", value: "soon"},
		{status: 503, kind: delivery.Busy, header: "Retry-After", value: in(10 * time.Minute), least: 5 * time.Minute, most: 10 * time.Minute},
		{status: 503, kind: delivery.Slow, header: "Retry-After", value: in(-time.Hour)},
		{status: 503, kind: delivery.Busy, header: "Retry-After", value: in(1e6 * time.Hour), least: time.Hour, most: time.Hour},
		{status: 500, kind: delivery.Bad, header: "Retry-After", value: "120"},
		{status: 500, kind: delivery.Bad},
		{status: 502, kind: delivery.Slow},
		{status: 504, kind: delivery.Slow},
		{status: 599, kind: delivery.Bad},
		{status: 999, kind: delivery.Bad},
		{status: 200, kind: delivery.Gone, header: "Webhook-Delivery", value: "disable"},
		{status: 500, kind: delivery.Gone, header: "Webhook-Delivery", value: " Disable "},
		{status: 422, kind: delivery.Final, header: "Webhook-Delivery", value: "abort-message"},
		{status: 200, kind: delivery.OK, header: "Webhook-Delivery", value: "abort-message"},
		{status: 500, kind: delivery.Bad, header: "Webhook-Delivery", value: "whatever"},
	} {
		head, status = http.Header{}, c.status
		if c.header != "" {
			head.Set(c.header, c.value)
		}
		result := s.Send(t.Context(), to(endpoint.URL), jobOf(0), messageOf(`{}`))
		name := strconv.Itoa(c.status) + " " + c.header + ": " + c.value
		require.Equal(t, c.kind, result.Kind, name)
		require.Equal(t, strconv.Itoa(c.status), result.Code, name)
		require.Equal(t, result.Kind == delivery.OK, result.Error == "", name)
		require.GreaterOrEqual(t, result.RetryAfter, c.least, name)
		require.LessOrEqual(t, result.RetryAfter, c.most, name)
		if c.status != 204 && c.status != 304 {
			require.True(t, strings.HasSuffix(string(result.Answer), "said \x00 so"), name)
		}
		require.Equal(t, "/", (<-endpoint.got).URL.Path, name)
		require.False(t, result.At.IsZero())
		require.Positive(t, result.Took)
	}
	require.Empty(t, endpoint.got, "a redirect was followed")
}

// A configuration error blocks the destination, and no request is sent.
func TestMisconfiguredDestinations(t *testing.T) {
	t.Parallel()
	endpoint := newEndpoint(t, nil)
	s := newTestSender(t)
	for code, change := range map[string]func(*delivery.Target){
		"no_secret":       func(t *delivery.Target) { t.Secrets = nil },
		"unusable_secret": func(t *delivery.Target) { t.Secrets = []string{"whsec_no base64"} },
		"signature":       func(t *delivery.Target) { t.Destination.HTTP.Signature = []byte(`{"hmac": {"signed": "{nothing}"}}`) },
		"address":         func(t *delivery.Target) { t.Destination.HTTP.URL = "http://%zz" },
		"tls_files":       func(t *delivery.Target) { t.Destination.HTTP.CA = "/nowhere/ca.pem" },
	} {
		target := to(endpoint.URL)
		change(&target)
		result := s.Send(t.Context(), target, jobOf(0), messageOf(`{}`))
		require.Equal(t, delivery.Blocked, result.Kind, code)
		require.Equal(t, code, result.Code)
		require.NotEmpty(t, result.Error)
		require.NotContains(t, result.Error, "no base64")
		require.NotContains(t, result.Error, "/nowhere")
	}
	require.Empty(t, endpoint.got)
}

func TestWhichSignaturesCanBeDeclared(t *testing.T) {
	t.Parallel()
	for declared, says := range map[string]string{
		`null`: "", ``: "", standardWebhooks: "",
		`{"token": {"in": "bearer"}}`:     "",
		`{"basic": {"user": "holdfast"}}`: "",
		`{"hmac": {"signed": "{body}"}}`:  "http.signature: hmac.signature.header is missing",
		`{"hmac": {"signed": "{body}", "signature": {"header": "X-Sig", "prefix": "sha256="}}}`: "hmac.signature.prefix isn't used by " +
			"grammar plain: set grammar to prefix or list, or remove it",
		`{"hmac": {"signed": "{body}", "signature": {"header": "X-Sig", "field": "v1", "separator": ","}}}`: "hmac.signature.separator " +
			"isn't used by grammar plain: set grammar to pairs or list, or remove it",
		`{"hmak": {"signed": "{body}"}}`:   "http.signature: hmak is not a field",
		`{"address": {"networks": "NET"}}`: "http.signature: address and certificate can't sign",
		`{}`:                               "want exactly one of",
		`[]`:                               "must be one scheme",
		`{"token": {"in": "bearer"}, "basic": {"user": "holdfast"}}`: "want exactly one of",
	} {
		err := CheckSignature(json.RawMessage(declared))
		if says == "" {
			require.NoError(t, err, declared)
			continue
		}
		require.ErrorContains(t, err, says, declared)
		require.Equal(t, event.ClassRejected, event.ClassOf(err))
	}
}
