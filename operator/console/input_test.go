package console_test

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/operator/access"
)

// hostile are texts that a client may send in any field.
var hostile = map[string]string{
	"HTML":         `"><script>alert(1)</script><img src=x onerror=alert(1)>`,
	"quotes":       `' " ` + "`" + ` </textarea><form action="https://evil.example">`,
	"a template":   `{{.}}{{csrf $}}`,
	"NUL":          "a\x00b",
	"no UTF-8":     "a\xff\xfeb",
	"bidi":         "a\u202eb\u2066c",
	"line ends":    "a\r\nb\rc",
	"60 KB":        strings.Repeat("x", 60_000),
	"many numbers": strings.Repeat("1s ", 15_000),
}

// Any input is escaped, and either saved or shown with an error next to its field; no page fails.
func TestNoInputBreaksAForm(t *testing.T) {
	t.Parallel()
	behind := withCRM()
	behind.all["queue"] = delivery.Destination{ID: 5, Version: 1, Name: "queue", Temporal: &delivery.Temporal{TaskQueue: "orders"}}
	s := startShowing(t, behind.shown(), "", true)
	v := newVisitor(t)
	v.logIn(s, s.tokens[access.RoleIntegrator])
	_, home := v.get(s.url + "/console")
	proof := proofIn(t, home)
	for path, fields := range map[string][]string{
		"/console/new-destination": {
			"name", "http.url", "http.headers", "http.proxy", "http.certificate", "http.key", "secret", "temporal.task_queue", "temporal.profile", "rate.requests", "rate.per", "in_flight",
			"timeout", "retry.schedule", "retry.attempts", "breaker.open", "keep",
		},
		"/console/destinations/crm/edit":        {"http.url", "http.headers", "retry.schedule", "version"},
		"/console/destinations/crm/subscribe":   {"name", "events.providers", "events.types", "events.filter", "body", "active", "subscription"},
		"/console/destinations/queue/subscribe": {"workflow"},
		"/console/destinations/crm/rate":        {"rate", "reason"},
		"/console/destinations/crm/test":        {"subscription", "event"},
	} {
		for _, field := range fields {
			for name, text := range hostile {
				form := url.Values{
					"csrf": proof["csrf"], "name": {"new"}, "http.url": {"https://a.example"}, "version": {"1"}, "subscription": nil,
				}
				if field == "temporal.task_queue" || field == "temporal.profile" {
					form.Set("http.url", "")
					form.Set("temporal.task_queue", "orders")
				}
				form.Set(field, text)
				res, page := v.ask("POST", s.url+path, form)
				require.Less(t, res.StatusCode, 500, "%s %s: %s", path, field, name)
				require.NotContains(t, page, "<script>alert", "%s %s", path, field)
				require.NotContains(t, page, "onerror=alert(1)>", "%s %s", path, field)
				require.NotContains(t, page, `<form action="https://evil`, "%s %s", path, field)
				if (name == "NUL" || name == "no UTF-8") && res.StatusCode < 400 && field != "active" {
					require.Fail(t, "saved", "%s %s: %s isn't text", path, field, name)
				}
			}
		}
	}
	for _, path := range []string{"/console/destinations/crm/edit", "/console/destinations/crm/subscribe", "/console/new-destination"} {
		res, page := v.ask("POST", s.url+path, url.Values{"csrf": proof["csrf"], "http.headers": {"X-Big: " + strings.Repeat("x", 64<<10)}, "version": {"1"}})
		require.Equal(t, 413, res.StatusCode, path)
		require.Contains(t, page, "too large", path)
	}
	for _, path := range []string{
		"/console/destinations", "/console/destinations/crm", "/console/destinations/new", "/console/destinations/crm/edit", "/console/deliveries",
	} {
		_, page := v.get(s.url + path)
		require.NotContains(t, page, "<script>alert", path)
		require.NotContains(t, page, "\u202e", path)
	}
}

// Fields that a form leaves out keep their values, as do fields that no form shows.
func TestFieldsOutsideAFormDoNotChange(t *testing.T) {
	t.Parallel()
	behind := newDestinations()
	jitter := 0.2
	before := delivery.Destination{
		ID: 3, Version: 1, Name: "crm", Rate: &delivery.Rate{Requests: 5, Per: event.Duration(time.Second)}, InFlight: 2,
		HTTP: &delivery.HTTP{
			URL: "https://crm.example.com", Headers: delivery.Headers{"X-Key": delivery.MaskedHeader}, CA: "ca.pem",
			Signature: []byte(`{"kind":"token","header":"X-Token"}`),
		},
		Retry: delivery.Retry{
			Attempts: 7, Initial: event.Duration(time.Second), Coefficient: 3, Maximum: event.Duration(time.Minute), Jitter: &jitter,
		},
		Timeout: event.Duration(20 * time.Second), Keep: event.Duration(time.Hour), DisableAfter: event.Duration(time.Hour),
		Breaker: delivery.Breaker{Failures: 4, Open: event.Duration(time.Second), Probes: 2},
	}
	behind.all["crm"] = before
	wanted := delivery.Subscription{
		ID: 6, Version: 1, Name: "orders", To: "crm", DestinationID: 3, Active: true, Body: "envelope",
		Events: delivery.Events{Providers: []string{"stripe"}, Types: []string{"order created", "a,b"}, Filter: ".body.ok"},
	}
	behind.subscriptions["orders"] = wanted
	s := startShowing(t, behind.shown(), "", true)
	status, _, page := s.send(t, access.RoleIntegrator, "/console/destinations/crm/edit", url.Values{"version": {"1"}, "in_flight": {"3"}})
	require.Equal(t, 303, status, page)
	before.Version, before.InFlight = 2, 3
	require.Equal(t, before, behind.all["crm"])

	const subscribe = "/console/destinations/crm/subscribe"
	form := url.Values{"subscription": {"orders"}, "version": {"1"}}
	status, _, page = s.send(t, access.RoleIntegrator, subscribe, form)
	require.Equal(t, 303, status, page)
	wanted.Version = 2
	require.Equal(t, wanted, behind.subscriptions["orders"])
	form = url.Values{
		"subscription": {"orders"}, "version": {"2"}, "events.types": {"order created a,b"}, "events.filter": {""}, "active": {""},
	}
	status, _, page = s.send(t, access.RoleIntegrator, subscribe, form)
	require.Equal(t, 303, status, page)
	wanted.Version, wanted.Events.Filter, wanted.Active = 3, "", false
	require.Equal(t, wanted, behind.subscriptions["orders"], "names with spaces and commas aren't split")
	form.Set("version", "3")
	form.Set("events.types", "order created more")
	status, _, page = s.send(t, access.RoleIntegrator, subscribe, form)
	require.Equal(t, 422, status)
	require.Contains(t, page, "use the API")
}

// An integrator who changes the URL must enter the secret and header values again; the form says so and has fields for them.
func TestANewURLNeedsTheSecretAgain(t *testing.T) {
	t.Parallel()
	behind := newDestinations()
	behind.all["crm"] = delivery.Destination{ID: 3, Version: 1, Name: "crm", HTTP: &delivery.HTTP{
		URL: "https://crm.example.com", Headers: delivery.Headers{"X-Key": delivery.MaskedHeader},
		Signature: []byte(`{"kind":"token","header":"X-Token"}`),
	}}
	behind.secrets["crm"] = []delivery.Secret{{Value: "kept-kept-kept-kept"}}
	s := startShowing(t, behind.shown(), "", true)
	const path = "/console/destinations/crm/edit"
	form := url.Values{"version": {"1"}, "http.url": {"https://evil.example"}, "http.headers": {"X-Key: [redacted]"}, "secret": {""}}
	status, _, page := s.send(t, access.RoleIntegrator, path, form)
	require.Equal(t, 422, status, page)
	require.Contains(t, page, `id="e-secret"`)
	form.Set("secret", "given-given-given")
	status, _, page = s.send(t, access.RoleIntegrator, path, form)
	require.Equal(t, 422, status, page)
	require.Contains(t, page, `id="e-http.headers"`)
	require.NotContains(t, page, "given-given-given", "a secret isn't sent back")
	require.Equal(t, "https://crm.example.com", behind.all["crm"].HTTP.URL)
	form.Set("http.headers", "X-Key: again")
	status, _, page = s.send(t, access.RoleIntegrator, path, form)
	require.Equal(t, 200, status, page)
	require.Equal(t, "given-given-given", behind.secrets["crm"][0].Value)

	form = url.Values{"version": {"2"}, "http.headers": {"X-Key: a\nx-key: b"}}
	status, _, page = s.send(t, access.RoleIntegrator, path, form)
	require.Equal(t, 422, status)
	require.Contains(t, page, "have one name twice")
}
