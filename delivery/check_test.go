package delivery_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
)

const (
	certificate = "-----BEGIN CERTIFICATE-----\nMAo=\n-----END CERTIFICATE-----\n"
	key         = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n"
)

func endpoint(change ...func(*delivery.Destination)) delivery.Destination {
	d := delivery.Destination{Name: "crm", HTTP: &delivery.HTTP{URL: "https://crm.example.com/hooks"}}
	for _, c := range change {
		c(&d)
	}
	return d
}

func orders() delivery.Destination {
	return delivery.Destination{Name: "orders", Temporal: &delivery.Temporal{Profile: "prod", TaskQueue: "orders"}}
}

func TestInvalidDestinations(t *testing.T) {
	t.Parallel()
	jitter := math.NaN()
	for want, change := range map[string]func(*delivery.Destination){
		"name is missing": func(d *delivery.Destination) { d.Name = "" },
		"name must be 1":  func(d *delivery.Destination) { d.Name = "CRM" },
		"http or temporal is missing": func(d *delivery.Destination) {
			d.HTTP = nil
		},
		"http and temporal are both set":          func(d *delivery.Destination) { d.Temporal = orders().Temporal },
		"temporal.task_queue is missing":          func(d *delivery.Destination) { d.HTTP, d.Temporal = nil, &delivery.Temporal{} },
		"http.url is missing":                     func(d *delivery.Destination) { d.HTTP.URL = "" },
		"http.url must be a URL":                  func(d *delivery.Destination) { d.HTTP.URL = "ftp://x" },
		"http.url must have no user":              func(d *delivery.Destination) { d.HTTP.URL = "https://me:secret@x.example" },
		"http.url must have no fragment":          func(d *delivery.Destination) { d.HTTP.URL += "#top" },
		"http.url must have a port":               func(d *delivery.Destination) { d.HTTP.URL = "https://1.1.1.1:0/" },
		"http.url must have a port from 1":        func(d *delivery.Destination) { d.HTTP.URL = "https://1.1.1.1:65536/" },
		"http.url is longer":                      func(d *delivery.Destination) { d.HTTP.URL += strings.Repeat("x", 5000) },
		"http.headers.webhook-id is set":          func(d *delivery.Destination) { d.HTTP.Headers = map[string]string{"webhook-id": "x"} },
		"http.headers has an invalid header name": func(d *delivery.Destination) { d.HTTP.Headers = map[string]string{"a b": "x"} },
		"http.headers.x must be one line":         func(d *delivery.Destination) { d.HTTP.Headers = map[string]string{"x": "a\r\nhost: b"} },
		"http.signature must be":                  func(d *delivery.Destination) { d.HTTP.Signature = []byte(`[1]`) },
		"http.certificate and http.key":           func(d *delivery.Destination) { d.HTTP.Key = "key.pem" },
		"must both be PEM text, or both paths":    func(d *delivery.Destination) { d.HTTP.Certificate, d.HTTP.Key = "a.pem", "-----BEGIN secret" },
		"http.certificate must hold certificates": func(d *delivery.Destination) { d.HTTP.Certificate, d.HTTP.Key = certificate+"\n"+key, key },
		"certificates in PEM, and nothing else":   func(d *delivery.Destination) { d.HTTP.Certificate, d.HTTP.Key = key, key },
		"the key belongs in http.key": func(d *delivery.Destination) {
			d.HTTP.Certificate, d.HTTP.Key = certificate+strings.Replace(key, "END", "ENT", 1)+certificate, key // malformed
		},
		"nothing else: the key":      func(d *delivery.Destination) { d.HTTP.Certificate, d.HTTP.Key = certificate+key[:40], key },
		"must be PEM text, or paths": func(d *delivery.Destination) { d.HTTP.Certificate, d.HTTP.Key = "a.pem", "a\nb" },
		"rate.requests must be":      func(d *delivery.Destination) { d.Rate = &delivery.Rate{Per: event.Duration(time.Second)} },
		"rate.per must be":           func(d *delivery.Destination) { d.Rate = &delivery.Rate{Requests: 1} },
		"in_flight must be":          func(d *delivery.Destination) { d.InFlight = -1 },
		"timeout must be 0s to 5m0s": func(d *delivery.Destination) { d.Timeout = event.Duration(time.Hour) },
		"keep must be":               func(d *delivery.Destination) { d.Keep = -1 },
		"disable_after must be":      func(d *delivery.Destination) { d.DisableAfter = -1 },
		"retry.attempts must be":     func(d *delivery.Destination) { d.Retry.Attempts = -1 },
		"retry.initial must be":      func(d *delivery.Destination) { d.Retry.Initial = -1 },
		"retry.coefficient must be":  func(d *delivery.Destination) { d.Retry.Coefficient = 0.5 },
		"retry.maximum must be":      func(d *delivery.Destination) { d.Retry.Maximum = -1 },
		"retry.jitter must be":       func(d *delivery.Destination) { d.Retry.Jitter = &jitter },
		"breaker.failures must be":   func(d *delivery.Destination) { d.Breaker.Failures = -1 },
		"breaker.open must be":       func(d *delivery.Destination) { d.Breaker.Open = -1 },
		"breaker.probes must be":     func(d *delivery.Destination) { d.Breaker.Probes = -1 },
	} {
		err := endpoint(change).Check()
		require.ErrorContains(t, err, want)
		require.Equal(t, "invalid_destination", event.CodeOf(err))
		require.Equal(t, event.ClassRejected, event.ClassOf(err))
		require.NotContains(t, err.Error(), "secret")
	}
	require.NoError(t, endpoint().Check())
	require.NoError(t, endpoint(func(d *delivery.Destination) { d.HTTP.Certificate, d.HTTP.Key = certificate+"\n"+certificate, key }).Check())
	require.NoError(t, orders().Check())
	err := endpoint(func(d *delivery.Destination) { d.Name, d.InFlight, d.HTTP.URL = "", -1, "no" }).Check()
	for _, field := range []string{"name", "in_flight", "http.url"} {
		require.ErrorContains(t, err, field, "all mistakes at once")
	}
}

func TestInvalidSubscriptions(t *testing.T) {
	t.Parallel()
	start := delivery.Start{WorkflowID: `.body.id`, Type: "Order", Input: []delivery.JQ{"envelope", ".body"}}
	fits := delivery.Subscription{Name: "s", To: "orders", Start: &start}
	require.NoError(t, fits.CheckFor(orders()))
	require.NoError(t, delivery.Subscription{Name: "s", To: "crm", Body: "envelope"}.CheckFor(endpoint()))
	require.NoError(t, delivery.Subscription{Name: "s", To: "crm", Body: "{id: .event.id}"}.CheckFor(endpoint()))
	with := func(change func(*delivery.Start)) *delivery.Start {
		s := start
		change(&s)
		return &s
	}
	for want, s := range map[string]delivery.Subscription{
		"name is missing":                 {To: "orders", Start: &start},
		"to is missing":                   {Name: "s", Start: &start},
		"events.types is an empty list":   {Events: delivery.Events{Types: []string{}}, Start: &start},
		"events.types[1] is missing":      {Events: delivery.Events{Types: []string{"a", ""}}, Start: &start},
		"events.providers[0] is longer":   {Events: delivery.Events{Providers: []string{strings.Repeat("x", 300)}}, Start: &start},
		"events.filter is not jq":         {Events: delivery.Events{Filter: "("}, Start: &start},
		"signal and start are both":       {Start: &start, Signal: &delivery.Signal{}},
		"start or signal or":              {},
		"body needs an HTTP destination":  {Start: &start, Body: "envelope"},
		"start.workflow_id is missing":    {Start: with(func(s *delivery.Start) { s.WorkflowID = "" })},
		"start.workflow_id is not jq":     {Start: with(func(s *delivery.Start) { s.WorkflowID = "order:{" })},
		"start.type is missing":           {Start: with(func(s *delivery.Start) { s.Type = "" })},
		"start.input[1] does not compile": {Start: with(func(s *delivery.Start) { s.Input = []delivery.JQ{".", "envelop"} })},
		"start.search_attributes.A is not jq": {
			Start: with(func(s *delivery.Start) { s.SearchAttributes = map[string]delivery.JQ{"A": "]"} }),
		},
		"start.summary is not jq":                       {Start: with(func(s *delivery.Start) { s.Summary = "]" })},
		"start.fairness_key is not jq":                  {Start: with(func(s *delivery.Start) { s.FairnessKey = "]" })},
		"start.priority_key must be":                    {Start: with(func(s *delivery.Start) { s.PriorityKey = 6 })},
		"start.if_exists":                               {Start: with(func(s *delivery.Start) { s.IfExists = "shrug" })},
		"signal.signal_name is missing":                 {Signal: &delivery.Signal{WorkflowID: "."}},
		"signal.workflow_id is missing":                 {Signal: &delivery.Signal{SignalName: "s"}},
		"signal.signal_input[0] is missing":             {Signal: &delivery.Signal{SignalInput: []delivery.JQ{""}}},
		"signal_with_start.signal_name is missing":      {SignalWithStart: &delivery.SignalWithStart{Start: start}},
		"signal_with_start.if_closed \"x\"":             {SignalWithStart: &delivery.SignalWithStart{Start: start, IfClosed: "x"}},
		"signal_with_start.if_exists is only for start": {SignalWithStart: &delivery.SignalWithStart{Start: *with(func(s *delivery.Start) { s.IfExists = "delivered" })}},
		"signal_with_start.workflow_id is missing; ":    {SignalWithStart: &delivery.SignalWithStart{}},
	} {
		if !strings.HasPrefix(want, "name ") {
			s.Name = "s"
		}
		if !strings.HasPrefix(want, "to ") {
			s.To = "orders"
		}
		err := s.CheckFor(orders())
		require.ErrorContains(t, err, want)
		require.Equal(t, "invalid_subscription", event.CodeOf(err))
	}
	require.ErrorContains(t, fits.CheckFor(endpoint()), "start needs a Temporal destination: crm is an HTTP endpoint")
	require.NoError(t, fits.Check())
}

// A client certificate that has little time left says so.
func TestTheStateOfACertificate(t *testing.T) {
	t.Parallel()
	end := time.Date(2026, 12, 4, 12, 0, 0, 0, time.UTC)
	for left, says := range map[time.Duration]string{
		5*24*time.Hour + time.Hour: "expires in 5 days, on 2026-12-04", 30 * time.Hour: "expires in 1 day, on 2026-12-04",
		time.Hour: "expires within a day, on 2026-12-04", -time.Hour: "expired on 2026-12-04", 0: "expired on 2026-12-04",
	} {
		require.Equal(t, says, delivery.CertificateState(end, end.Add(-left)))
	}
}
