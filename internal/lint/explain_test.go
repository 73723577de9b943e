package lint

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers"
	"holdfast/providers/auth"
	"holdfast/providers/auth/denial"
	"holdfast/providers/definition"
	"holdfast/providers/mapping"
)

// Each event of a batch is explained with its key, the key's origin, and its effect.
func TestExplainBatch(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "gocardless", secretOfTests)
	e := Explain(p, signedSample(t, p, "payments.confirmed", "x1"), clock)
	require.Empty(t, e.Refused)
	require.Equal(t, 200, e.Status)
	require.Equal(t, "auth[0]: HMAC in webhook-signature, with GOCARDLESS_WEBHOOK_SECRET", e.Scheme)
	require.Len(t, e.Events, 2)
	first := e.Events[0]
	require.Equal(t, "gocardless:EV1x1", first.WorkflowID)
	require.Equal(t, event.KeyFromEvent, first.KeyFrom)
	require.Equal(t, []mapping.ExplainedPart{{Field: "key.parts[0]", Expr: ".body.id", Value: "EV1x1"}}, first.KeyParts)
	require.Equal(t, "payments.confirmed", first.Type)
	require.Equal(t, clock, first.OccurredAt)
	require.Equal(t, ".body.created_at (rfc3339)", first.OccurredFrom)
	require.Equal(t, event.PriorityNormal, first.Priority)
	require.Zero(t, first.DedupeWindow)
	require.Equal(t, 4, first.Policy.Attempts)
	require.Equal(t, "PMSAMPLE", first.Changes[0].ExternalID)
	require.Equal(t, event.OpPatch, first.Changes[0].Op)
	require.Equal(t, "payouts.paid", e.Events[1].Type)
}

// Each rule for entities says why it gave nothing, without values of the event.
func TestExplainShowsEachRulesResult(t *testing.T) {
	t.Parallel()
	const rules = `
entities:
  - {kind: shipment, id: .body.shipment.tracking}
  - {kind: order, types: ["order.*"], id: .body.order}
  - {kind: gift, when: .body.gift, id: .body.order}
  - {kind: flag, id: .body.flag}
  - {kind: item, each: '.body.items[]', id: $item.sku}
  - {kind: order, id: .body.order}
  - {kind: nothing, each: '.body.items[] | select(.sku == "none")', id: $item.sku}
  - {kind: empty, id: .body.empty}
  - {kind_from: .body.other, id: .body.order}
`
	explained := func(body string) ExplainedEvent {
		c, err := providers.Load(writeDefinitions(t, map[string]string{"acme.yaml": minimal + rules}))
		require.NoError(t, err)
		p, _ := c.WithSecrets(secretsOf(secretOfTests)).Lookup("acme")
		r := &auth.Request{Method: "POST", Path: p.Paths()[0], Header: map[string][]string{}, Body: []byte(body)}
		require.NoError(t, p.SignWithSecrets(r, clock))
		e := Explain(p, r, clock)
		require.Empty(t, e.Refused)
		return e.Events[0]
	}
	e := explained(`{"id":"1","type":"order.paid","order":"secret7","flag":true,"empty":"","items":[{"sku":"a"},{"sku":{"x":"secret8"}}]}`)
	var reasons []string
	for _, r := range e.Entities {
		reasons = append(reasons, r.Field+": "+ruleFact(r))
	}
	require.Equal(t, []string{
		"entities[0]: .body.shipment.tracking gave null",
		"entities[1]: 1 change",
		"entities[2]: .body.gift gave null",
		"entities[3]: .body.flag gave a value of type boolean",
		"entities[4]: 1 change; $item.sku gave a value of type object for 1 of 2 items",
		"entities[5]: names only what an earlier rule has named",
		`entities[6]: .body.items[] | select(.sku == "none") gave nothing`,
		`entities[7]: .body.empty gave ""`,
		"entities[8]: .body.other gave null",
	}, reasons)
	require.False(t, e.Unmapped)
	require.Contains(t, e.Facts(), ".body.shipment.tracking gave null")

	e = explained(`{"id":"2","type":"parcel.lost","items":[]}`)
	require.Equal(t, "isn't for this type", e.Entities[1].Reason)
	require.True(t, e.Unmapped)
	require.Equal(t, event.OutcomeProcessed, e.Outcome)
	require.Contains(t, e.Facts(), "stored, and no entity is changed: no rule that is meant for it found one")
}

// A stored event has the time of its body even if it can't be parsed. Its key and window are those of the current definition once
// that finds the key.
func TestAStoredEventIsExplainedByTheCurrentDefinition(t *testing.T) {
	t.Parallel()
	explained := func(key string) ExplainedEvent {
		c, err := providers.Load(writeDefinitions(t, map[string]string{"acme.yaml": strings.Replace(minimal, ".body.id", key, 1) +
			"dedupe: 7d\noccurred_at: [{expr: .body.at, units: [rfc3339]}]\n"}))
		require.NoError(t, err)
		p, _ := c.Lookup("acme")
		return ExplainStored(p, event.Receipt{
			Provider: "acme", Type: "paid", ReceivedAt: clock, Key: "missing:1", KeyFrom: event.KeyFromNothing,
			DedupeWindow: event.Duration(15 * time.Minute), Definition: "the one before",
		}, []byte(`{"id":"e1","type":"paid","at":"2025-06-01T10:00:00Z"}`))
	}
	broken := explained(".body.wrong")
	require.Equal(t, "missing_key", broken.DeadLetter.Code)
	require.Contains(t, broken.Facts(), "2025-06-01T10:00:00Z, from .body.at (rfc3339)")
	require.Contains(t, broken.Facts(), "for 15m, because the key is missing")
	corrected := explained(".body.id")
	require.Nil(t, corrected.DeadLetter)
	require.Contains(t, corrected.Facts(), "e1 (from the parts of the key)")
	require.Contains(t, corrected.Facts(), "for 7d")
}

func TestExplainRefusals(t *testing.T) {
	t.Parallel()
	p := providerOf(t, "gocardless", secretOfTests)
	r := signedSample(t, p, "payments.confirmed", "x1")
	r.Body = append(r.Body, ' ')
	e := Explain(p, r, clock)
	require.Equal(t, denial.ModifiedBody, e.Refused)
	require.Contains(t, e.Refusal.Detail, "the body without surrounding white space")
	require.Equal(t, 498, e.Status)
	require.Empty(t, e.Events)
	r.Body[0] = ' '
	e = Explain(p, r, clock)
	require.Equal(t, denial.BadSignature, e.Refused)
	require.Equal(t, denial.BadSignature.Cause().Next, e.Refusal.Next)
	require.Equal(t, "auth[0]: HMAC in webhook-signature, with GOCARDLESS_WEBHOOK_SECRET", e.Refusal.Scheme)
	require.NotEmpty(t, e.Refusal.Tried)
	e = Explain(providerOf(t, "gocardless"), r, clock)
	require.Equal(t, denial.NoSecret, e.Refused)
	r.Body = make([]byte, p.BodyLimit(0)+1)
	require.Equal(t, ReasonTooLarge, Explain(p, r, clock).Refused)
	require.NotEmpty(t, Explain(p, r, clock).Refusal.Next)
	require.Equal(t, 413, Explain(p, r, clock).Status)

	stale := providerOf(t, "stripe", secretOfTests)
	e = Explain(stale, signedSample(t, stale, "customer.updated", "x1"), clock.Add(10*time.Minute))
	require.Equal(t, denial.StaleTimestamp, e.Refused)
}

// Explanations of a key, an override, a question, a handshake and a dead letter.
func TestExplainSpecialEvents(t *testing.T) {
	t.Parallel()
	retell := providerOf(t, "retell", secretOfTests)
	e := Explain(retell, signedSample(t, retell, "call_inbound", "x1"), clock)
	require.Equal(t, "overrides[0]", e.Events[0].Rules)
	require.Len(t, e.Events[0].KeyParts, 4)
	require.Equal(t, "overrides[0].key.parts[3]", e.Events[0].KeyParts[3].Field)
	require.Equal(t, &ExplainedQuestion{
		Handler: "RETELL_INBOUND_URL", Deadline: event.Duration(8 * time.Second), Status: 200, Fallback: `{"call_inbound":{}}`,
	}, e.Events[0].Question)
	e = Explain(retell, signedSample(t, retell, "transcript_updated", "x1"), clock)
	require.Equal(t, event.KeyFromBody, e.Events[0].KeyFrom)
	require.Empty(t, e.Events[0].OccurredFrom)
	require.Equal(t, clock, e.Events[0].OccurredAt)

	slack := providerOf(t, "slack", secretOfTests)
	e = Explain(slack, signedSample(t, slack, "url_verification", "x1"), clock)
	require.True(t, e.Challenge)
	require.Equal(t, "challengex1", e.Reply)

	stripe := providerOf(t, "stripe", secretOfTests)
	r := signedSample(t, stripe, "customer.updated", "x1")
	r.Body = []byte(`{"type":"customer.updated"}`)
	require.NoError(t, stripe.Sign(r, secretOfTests, clock))
	e = Explain(stripe, r, clock)
	require.Empty(t, e.Refused, "an authentic event is never refused for its content")
	require.Equal(t, 202, e.Status)
	require.Equal(t, event.KeyFromNothing, e.Events[0].KeyFrom)
	require.Equal(t, "missing_key", e.Events[0].DeadLetter.Code)
	require.Empty(t, e.Events[0].KeyParts[0].Value)
	r.Body = []byte(`{`)
	require.NoError(t, stripe.Sign(r, secretOfTests, clock))
	require.Equal(t, event.ClassRejected, Explain(stripe, r, clock).Events[0].DeadLetter.Class)
}

// The lane is that of the definition.
func TestExplainLane(t *testing.T) {
	t.Parallel()
	c, err := providers.Load(writeDefinitions(t, map[string]string{"acme.yaml": sampled + "lane: bulk\n"}))
	require.NoError(t, err)
	p, _ := c.WithSecrets(secretsOf(secretOfTests)).Lookup("acme")
	require.Equal(t, definition.LaneBulk, Explain(p, signedSample(t, p, "order.paid", "x1"), clock).Events[0].Lane)
}

// If a definition refuses its own sample, that is explained with the sender's message.
func TestExplainARefusedEvent(t *testing.T) {
	t.Parallel()
	text := sampled + "refuse: [{when: '.body.type == \"order.paid\"', message: no such orders}]\n"
	dir := writeDefinitions(t, map[string]string{"acme.yaml": text})
	c, err := providers.Load(dir)
	require.NoError(t, err)
	p, _ := c.WithSecrets(secretsOf(secretOfTests)).Lookup("acme")
	e := Explain(p, signedSample(t, p, "order.paid", "x1"), clock)
	require.Equal(t, ReasonInvalid, e.Refused)
	require.Equal(t, 400, e.Status)
	require.Equal(t, "no such orders", e.Refusal.Detail)
	checked, err := CheckPath(dir, secretsOf(secretOfTests))
	require.NoError(t, err)
	require.Contains(t, fmt.Sprint(checked), "sample-fails")
}

// A condition that fails on a sample refuses nothing, and is reported.
func TestARefusalThatFailsIsReported(t *testing.T) {
	t.Parallel()
	text := sampled + "refuse:\n- {when: '.body.type == \"other\"', message: no such orders}\n- {when: '.body.type.name == \"x\"', message: never}\n"
	dir := writeDefinitions(t, map[string]string{"acme.yaml": text})
	catalogue, err := providers.Load(dir)
	require.NoError(t, err)
	found := FailingSamples(catalogue)
	require.Len(t, found, 1)
	require.Equal(t, "refuse[1].when", found[0].Field)
	require.Contains(t, found[0].Message, "fails on samples[")
}
