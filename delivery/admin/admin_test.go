package admin

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/providers"
)

// shelf keeps one destination and one subscription in memory, so that tests see which calls a store gets.
type shelf struct {
	Store

	there   *delivery.Destination
	broken  error // the error of what is stored
	applied delivery.Destination
	secrets []delivery.Secret
	grace   time.Duration
	audited []oversight.AuditEntry
	sub     delivery.Subscription
	stored  map[string]delivery.Message
}

func (s *shelf) Destination(context.Context, string) (delivery.Destination, error) {
	if s.there == nil {
		return delivery.Destination{}, event.ErrNotFound
	}
	return *s.there, s.broken
}

func (s *shelf) ApplyDestination(
	_ context.Context, d delivery.Destination, secrets []delivery.Secret, _ oversight.Actor,
) (delivery.Destination, error) {
	s.applied, s.secrets = d, secrets
	return d, nil
}

func (s *shelf) RotateSecret(_ context.Context, _ string, to delivery.Secret, grace time.Duration, _ oversight.Actor) error {
	s.secrets, s.grace = []delivery.Secret{to}, grace
	return nil
}

func (s *shelf) Subscription(context.Context, string) (delivery.Subscription, error) {
	return s.sub, nil
}

func (s *shelf) Target(context.Context, int64) (delivery.Target, error) {
	return delivery.Target{Destination: *s.there, Subscription: s.sub, Secrets: []string{"whsec_x"}}, nil
}

func (s *shelf) Messages(_ context.Context, ids []string, _ int) (map[string]delivery.Message, int, error) {
	return s.stored, len(ids), nil
}

func (s *shelf) Audit(_ context.Context, e oversight.AuditEntry) error {
	s.audited = append(s.audited, e)
	return nil
}

func serviceOn(s *shelf) *Service {
	return &Service{
		Store: s, NewSecret: func() string { return "whsec_bWFkZSBieSB0aGUgZGVzaw==" },
		CheckSignature: func(json.RawMessage) error { return nil },
		CheckFiles:     func(delivery.HTTP) error { return nil },
	}
}

func endpoint(name string) delivery.Destination {
	return delivery.Destination{Name: name, HTTP: &delivery.HTTP{URL: "https://crm.example.com"}}
}

// A new endpoint gets a secret, an existing one keeps its own, and a secret in a variable isn't set.
func TestAnEndpointGetsASecretWhereItNeedsOne(t *testing.T) {
	t.Parallel()
	there, queue := endpoint("crm"), delivery.Destination{Name: "q", Temporal: &delivery.Temporal{TaskQueue: "q"}}
	ofVariable, declared := endpoint("crm"), endpoint("crm")
	ofVariable.HTTP = &delivery.HTTP{URL: "https://crm.example.com", Secrets: "CRM_SECRET"}
	declared.HTTP = &delivery.HTTP{URL: "https://crm.example.com", Signature: json.RawMessage(`{"hmac":{}}`)}
	const text = "an old plain secret"
	for name, c := range map[string]struct {
		there  *delivery.Destination
		wanted delivery.Destination
		given  string
		want   string
		code   string
	}{
		"a new one":              {nil, endpoint("crm"), "", "whsec_bWFkZSBieSB0aGUgZGVzaw==", ""},
		"one that is there":      {&there, endpoint("crm"), "", "", ""},
		"one that was a queue":   {&queue, endpoint("q"), "", "whsec_bWFkZSBieSB0aGUgZGVzaw==", ""},
		"one from a variable":    {nil, ofVariable, "", "", ""},
		"a queue":                {nil, queue, "", "", ""},
		"its own, as text":       {&there, endpoint("crm"), text, "whsec_" + base64.StdEncoding.EncodeToString([]byte(text)), ""},
		"its own, by the book":   {nil, endpoint("crm"), "whsec_MDEyMzQ1Njc4OWFi", "whsec_MDEyMzQ1Njc4OWFi", ""},
		"for another signature":  {nil, declared, text, text, ""},
		"too short":              {nil, endpoint("crm"), "short", "", "invalid_secret"},
		"no base64":              {nil, endpoint("crm"), "whsec_no base64 at all", "", "invalid_secret"},
		"two lines":              {nil, endpoint("crm"), text + "\n", "", "invalid_secret"},
		"beside a variable":      {nil, ofVariable, text, "", "invalid_secret"},
		"for nothing to be sent": {nil, queue, text, "", "invalid_secret"},
	} {
		s := &shelf{there: c.there}
		_, made, err := serviceOn(s).Apply(t.Context(), c.wanted, c.given, oversight.Actor{})
		if c.code != "" {
			require.Equal(t, c.code, event.CodeOf(err), name)
			require.NotContains(t, err.Error(), text, name)
			require.Empty(t, s.applied.Name, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, made, name)
		require.Equal(t, c.want == "", s.secrets == nil, "%s: nil keeps what there is", name)
		if c.given != "" {
			require.Equal(t, c.given, s.secrets[0].Value, "%s: stored as given, whatever the signature is later", name)
		}
	}
}

// Applying repairs a destination that can't be read, and keeps the secrets that it has.
func TestADestinationThatCannotBeReadKeepsItsSecrets(t *testing.T) {
	t.Parallel()
	s := &shelf{there: &delivery.Destination{Name: "crm"}, broken: &event.Error{Code: delivery.CodeUnreadable}}
	_, made, err := serviceOn(s).Apply(t.Context(), endpoint("crm"), "", oversight.Actor{})
	require.NoError(t, err)
	require.Empty(t, made)
	require.Equal(t, "crm", s.applied.Name)
	require.Nil(t, s.secrets)
}

func TestASecretIsRotated(t *testing.T) {
	t.Parallel()
	there := endpoint("crm")
	s := &shelf{there: &there}
	made, err := serviceOn(s).Rotate(t.Context(), "crm", "", time.Hour, oversight.Actor{})
	require.NoError(t, err)
	require.Equal(t, "whsec_bWFkZSBieSB0aGUgZGVzaw==", made)
	require.Equal(t, time.Hour, s.grace)
	for _, grace := range []time.Duration{-1, MaxGrace + 1} {
		_, err = serviceOn(s).Rotate(t.Context(), "crm", "", grace, oversight.Actor{})
		require.Equal(t, "invalid_grace", event.CodeOf(err))
	}
	there.HTTP.Secrets = "CRM_SECRET"
	_, err = serviceOn(s).Rotate(t.Context(), "crm", "", 0, oversight.Actor{})
	require.ErrorContains(t, err, "CRM_SECRET")
	require.NotContains(t, Fingerprint(delivery.Secret{Value: made}), "bWFkZSBi")
	require.NotEqual(t, Fingerprint(delivery.Secret{Value: made}), Fingerprint(delivery.Secret{Value: made + "x"}))
}

// line is a sender that answers as configured.
type line struct {
	refuses []string // types

	sent   []delivery.Message
	jobs   []delivery.Job
	result delivery.Result
}

func (l *line) Send(_ context.Context, _ delivery.Target, j delivery.Job, m delivery.Message) delivery.Result {
	l.sent, l.jobs = append(l.sent, m), append(l.jobs, j)
	return l.result
}

func (l *line) Build(_ context.Context, _ delivery.Target, m delivery.Message) error {
	if slices.Contains(l.refuses, m.Type) {
		return event.Rejectf("jq_null", "start.workflow_id is null")
	}
	return nil
}

// A trial sends one event with an ID of its own, whatever the filter says; it is audited before it is sent.
func TestATrial(t *testing.T) {
	t.Parallel()
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	there := endpoint("crm")
	s := &shelf{
		there: &there, stored: map[string]delivery.Message{"e1": {Receipt: event.Receipt{ID: "e1", Provider: "acme"}, Type: "a", Body: []byte(`{}`)}},
		sub: delivery.Subscription{ID: 5, Name: "customers", To: "crm", Events: delivery.Events{
			Providers: []string{"stripe"}, Types: []string{"customer.*"}, Filter: ".body.livemode",
		}},
	}
	out := &line{result: delivery.Result{Kind: delivery.OK, Code: "200", Took: 3 * time.Millisecond, Answer: []byte("thanks")}}
	trials := &Trials{Store: s, HTTP: out, Samples: Samples{Names: catalogue.Names, Lookup: catalogue.Lookup}}

	r, err := trials.Try(t.Context(), "customers", Choice{}, oversight.Actor{Name: "ada"})
	require.NoError(t, err)
	require.Equal(t, []any{"stripe", "sample", true, "200", 3, false}, []any{r.Provider, r.Of, r.OK, r.Code, r.MS, r.Matches})
	require.Regexp(t, `^customer\.`, r.Type)
	require.Equal(t, oversight.AuditSubscriptionTest, s.audited[0].Action)
	require.Equal(t, r.EventID, out.jobs[0].EventID)

	r, err = trials.Try(t.Context(), "customers", Choice{EventID: "e1"}, oversight.Actor{})
	require.NoError(t, err)
	require.NotEqual(t, "e1", r.EventID, "what is stored must not be taken for delivered")
	require.Equal(t, "event e1", r.Of)
	_, err = trials.Try(t.Context(), "customers", Choice{EventID: "e2"}, oversight.Actor{})
	require.ErrorIs(t, err, event.ErrNotFound)
	_, err = trials.Try(t.Context(), "customers", Choice{Type: "no.such"}, oversight.Actor{})
	require.Equal(t, "invalid_event", event.CodeOf(err))
	require.Len(t, out.sent, 2)

	found, err := trials.Check(t.Context(), "customers", Choice{})
	require.NoError(t, err)
	require.Len(t, found, 3)
	require.Regexp(t, `^the filter wants none of \d+ samples \(stripe customer\.`, found[0].Text)
	require.Equal(t, "filter", found[1].About)
	for filter, want := range map[string]string{
		`.body.account == "a7"`:                             `^costs nothing: its comparison of \.body\.account is indexed$`,
		`.body.account == "a7" and (.body.id | length) > 3`: `^costs [\d.]+.?s for each event that its comparison of \.body\.account selects`,
		`.body.id | startswith("cus") and (. | length) > 3`: `^costs [\d.]+.?s for each event of its providers and types: it has no`,
	} {
		s.sub.Events.Filter = filter
		found, err = trials.Check(t.Context(), "customers", Choice{})
		require.NoError(t, err)
		require.Regexp(t, want, found[len(found)-2].Text)
		require.True(t, found[len(found)-2].OK)
	}

	s.sub.Events.Filter = ""
	found, err = trials.Check(t.Context(), "customers", Choice{})
	require.NoError(t, err)
	require.Regexp(t, `^wants \d+ of \d+ samples: stripe customer\.`, found[0].Text)
}

// A subscription is checked with every sample of every provider that it selects, and tried with one that can be sent. Samples
// that can't be sent, and would become dead letters, are reported.
func TestEverySampleIsTried(t *testing.T) {
	t.Parallel()
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	there := endpoint("crm")
	s := &shelf{there: &there, sub: delivery.Subscription{ID: 5, Name: "all", To: "crm"}}
	out := &line{result: delivery.Result{Kind: delivery.OK, Code: "200"}}
	trials := &Trials{Store: s, HTTP: out, Samples: Samples{Names: catalogue.Names, Lookup: catalogue.Lookup}}
	all, err := trials.Samples.All(delivery.Events{})
	require.NoError(t, err)
	last := all[len(all)-1]
	out.refuses = []string{all[0].Type, last.Type}

	found, err := trials.Check(t.Context(), "all", Choice{})
	require.NoError(t, err)
	var texts []string
	for _, f := range found {
		if f.About == "sample" {
			require.False(t, f.OK)
			texts = append(texts, f.Text)
		}
	}
	require.Contains(t, texts, nameOf(all[0])+": jq_null: start.workflow_id is null; such an event becomes a dead letter")
	require.Contains(t, texts, nameOf(last)+": jq_null: start.workflow_id is null; such an event becomes a dead letter")

	r, err := trials.Try(t.Context(), "all", Choice{}, oversight.Actor{})
	require.NoError(t, err)
	require.NotContains(t, out.refuses, r.Type)
	require.Len(t, r.Findings, len(texts))
}

// A sample that can't be turned into an event is reported as such, because a hint about spelling would mislead.
func TestACheckNamesAnInvalidSample(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "acme.yaml"), []byte(`
name: acme
secrets: ACME_TOKEN
auth: [{token: {in: bearer}}]
type: .body.type
key: {parts: [.body.id]}
samples:
  a.b: {body: '{id: .id, type: "c.d"}'}
`), 0o600))
	catalogue, err := providers.Load(folder)
	require.NoError(t, err)
	there := endpoint("crm")
	s := &shelf{there: &there, sub: delivery.Subscription{ID: 5, Name: "acme", To: "crm", Events: delivery.Events{
		Providers: []string{"acme"},
	}}}
	trials := &Trials{Store: s, HTTP: &line{}, Samples: Samples{Names: catalogue.Names, Lookup: catalogue.Lookup}}
	_, err = trials.Check(t.Context(), "acme", Choice{})
	require.ErrorContains(t, err, "the sample a.b of acme has no event of this type")

	s.sub.Events.Types = []string{"no.such"}
	found, err := trials.Check(t.Context(), "acme", Choice{})
	require.NoError(t, err)
	require.Contains(t, found[0].Text, "check their spelling")
	require.False(t, found[0].OK)
}

// Event types that the user's own services publish have no samples. A check reports that it couldn't try them, and tries an
// example.
func TestACheckOfTypesWithoutSamples(t *testing.T) {
	t.Parallel()
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	there := endpoint("crm")
	s := &shelf{
		there:  &there,
		stored: map[string]delivery.Message{"e1": {Receipt: event.Receipt{ID: "e1", Provider: "events"}, Type: "invoice.sent", Body: []byte(`{}`)}},
		sub: delivery.Subscription{ID: 5, Name: "invoices", To: "crm", Events: delivery.Events{
			Providers: []string{"events"}, Types: []string{"invoice.*"}, Filter: ".body.data.total > 10",
		}},
	}
	out := &line{}
	trials := &Trials{Store: s, HTTP: out, Samples: Samples{Names: catalogue.Names, Lookup: catalogue.Lookup}}
	first := func(which Choice) delivery.Finding {
		t.Helper()
		found, err := trials.Check(t.Context(), "invoices", which)
		require.NoError(t, err)
		require.Equal(t, "secrets", found[len(found)-1].About, "what needs no event is checked in any case")
		return found[0]
	}
	body := func(text string) Choice { return Choice{Body: []byte(text)} }

	require.True(t, first(Choice{}).OK)
	require.Regexp(t, "^not checked: .*--file", first(Choice{}).Text)
	require.Equal(t, delivery.Finding{About: "events", OK: true, Text: "wants events invoice.sent"},
		first(body(`{"id":"1","type":"invoice.sent","data":{"total":11}}`)))
	small := first(body(`[{"id":"1","type":"invoice.sent","data":{"total":11}},{"id":"2","type":"invoice.sent","data":{"total":9}}]`))
	require.False(t, small.OK)
	require.Contains(t, small.Text, "wants 1 of 2 events")
	require.False(t, first(Choice{EventID: "e1"}).OK, "its filter does not want the stored one")

	out.refuses = []string{"invoice.sent"}
	found, err := trials.Check(t.Context(), "invoices", body(`{"id":"1","type":"invoice.sent","data":{"total":11}}`))
	require.NoError(t, err)
	require.Contains(t, found[1].Text, "such an event becomes a dead letter")

	for text, reason := range map[string]string{
		`{`: "becomes a dead letter before it is delivered", `[]`: "has no event of events",
	} {
		_, err = trials.Check(t.Context(), "invoices", body(text))
		require.ErrorContains(t, err, reason)
	}
	s.sub.Events.Providers = nil
	_, err = trials.Check(t.Context(), "invoices", body(`{}`))
	require.ErrorContains(t, err, "name the provider of this event")
	s.sub.Events.Providers = []string{"event"}
	require.Equal(t, delivery.Finding{About: "events", Text: "unknown provider event: check its spelling"}, first(Choice{}))
}

// Every sample of the catalogue can be sent.
func TestEverySampleIsAnEvent(t *testing.T) {
	t.Parallel()
	catalogue, err := providers.Load("")
	require.NoError(t, err)
	samples := Samples{Names: catalogue.Names, Lookup: catalogue.Lookup}
	for _, name := range catalogue.Names() {
		p, _ := catalogue.Lookup(name)
		for _, sample := range p.SampleTypes() {
			eventType := providers.SampleEvent(sample)
			all, err := samples.All(delivery.Events{Providers: []string{name}, Types: []string{eventType}})
			require.NoError(t, err, "%s %s", name, eventType)
			require.Equal(t, eventType, all[0].Type)
			require.NotEmpty(t, all[0].Body)
		}
	}
}

// A destination can only name a proxy that the installation defines.
func TestOnlyProxiesOfTheInstallationCanBeNamed(t *testing.T) {
	t.Parallel()
	for name, says := range map[string]string{
		"": "", "office": "", delivery.ProxyDirect: "",
		"http://10.0.0.5:3128": "must be the name of a proxy in HOLDFAST_PROXIES", "other": "which has office",
	} {
		d, s := endpoint("crm"), &shelf{}
		d.HTTP.Proxy = name
		service := serviceOn(s)
		service.Proxies = []string{"office"}
		_, _, err := service.Apply(t.Context(), d, "", oversight.Actor{})
		if says == "" {
			require.NoError(t, err, name)
			require.Equal(t, name, s.applied.HTTP.Proxy)
			continue
		}
		require.ErrorContains(t, err, says)
		require.Equal(t, "invalid_destination", event.CodeOf(err))
		require.Empty(t, s.applied.Name)
	}
}
