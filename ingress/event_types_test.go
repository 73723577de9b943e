package ingress

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/event/eventtype"
	"holdfast/ingress/intake"
)

func orderPaid(t *testing.T, check eventtype.Check) *eventtype.Catalog {
	t.Helper()
	catalog, err := eventtype.NewCatalog([]eventtype.EventType{{
		Name: "order.paid", Check: check,
		Versions: map[string]eventtype.TypeVersion{
			"1": {Schema: json.RawMessage(`{"required": ["id"], "properties": {"total": {"type": "string"}}}`)},
			"2": {Schema: json.RawMessage(`true`), Deprecated: true},
		},
	}}, nil)
	require.NoError(t, err)
	return catalog
}

func publishTo(t *testing.T, d *door, body string) reply {
	t.Helper()
	return d.deliver(t, eventtype.Publisher, "/events", body, true)
}

// A published event is checked against its declared type:
//   - with refuse, the publisher gets 422 with type, path and rule, without a value, and nothing of the request is stored
//   - one such event in a list is enough
//   - valid events, other types, other providers and unreadable bodies are as before
//   - the operator sees the cause
func TestAnEventThatViolatesItsTypeIsRefused(t *testing.T) {
	t.Parallel()
	memory := NewRefusals()
	d := openDoor(t, "name: homemade\nextends: events\npaths: [/homemade]\n", func(o *Options, _ *intake.Options) {
		o.EventTypes, o.Refusals = orderPaid(t, eventtype.CheckRefuse), memory
	})
	for body, message := range map[string]string{
		`{"id":"1","type":"order.paid","data":{"total":1234}}`:                               "order.paid version 1: /data/id: required, /data/total: type",
		`[{"id":"1","type":"a"},{"id":"2","type":"order.paid","version":3,"data":{"id":1}}]`: "order.paid: /1/version: version",
		`{"id":"1","type":"order.paid"}`:                                                     "order.paid version 1: /data: required",
	} {
		refused := publishTo(t, d, body)
		require.Equal(t, 422, refused.status, body)
		require.Equal(t, code("event_type_violated"), refused.Error.Code)
		require.Equal(t, message, refused.Error.Message)
	}
	require.Empty(t, d.receipts(eventtype.Publisher))
	require.Equal(t, "event_type_violated", memory.Refusals(eventtype.Publisher)[0].Causes[0].Cause)

	for _, body := range []string{
		`{"id":"1","type":"order.paid","data":{"id":1,"total":"1"}}`, `{"id":"2","type":"order.made","data":{"total":1}}`, `{"id":"3",`,
	} {
		accepted := publishTo(t, d, body)
		require.Equal(t, 202, accepted.status, body)
		require.Empty(t, accepted.Events[0].Warning)
	}
	require.Equal(t, 202, d.deliver(t, "homemade", "/homemade", `{"id":"1","type":"order.paid","data":{}}`, true).status)
}

// With warn, the event is accepted, and the response says what is wrong. A deprecated version is a warning, too.
func TestAnEventThatViolatesItsTypeIsAcceptedWithAWarning(t *testing.T) {
	t.Parallel()
	d := openDoor(t, "", func(o *Options, _ *intake.Options) { o.EventTypes = orderPaid(t, eventtype.CheckWarn) })
	accepted := publishTo(t, d, `[{"id":"1","type":"order.paid","data":{"total":"1"}},{"id":"2","type":"order.paid","version":"2","data":1}]`)
	require.Equal(t, 202, accepted.status)
	require.Equal(t, "order.paid version 1: /0/data/id: required", accepted.Events[0].Warning)
	require.Equal(t, "order.paid version 2 is deprecated", accepted.Events[1].Warning)
	require.Len(t, d.receipts(eventtype.Publisher), 2)
}

// owners has the keys of stored events.
type owners map[string]event.Owner

func (all owners) Owners(_ context.Context, rs []event.Receipt) ([]event.Owner, error) {
	found := make([]event.Owner, len(rs))
	for i, r := range rs {
		found[i] = all[r.Key]
	}
	return found, nil
}

// A publisher that sends an event again, which was accepted before its type changed, gets the answer of a duplicate. An event with
// its ID and other content is refused.
func TestARedeliveryIsAcceptedWhateverItsTypeHasBecome(t *testing.T) {
	t.Parallel()
	const body = `{"id":"1","source":"shop","type":"order.paid","data":{}}`
	before := openDoor(t, "")
	first := publishTo(t, before, body)
	receipt := before.receipts(eventtype.Publisher)[0]
	d := openDoor(t, "", func(o *Options, in *intake.Options) {
		o.EventTypes, in.Starter, in.Inbox = orderPaid(t, eventtype.CheckRefuse), before.fakeStarter, instantInbox{}
		in.Owners = owners{receipt.Key: {ID: receipt.ID, Fingerprint: receipt.Fingerprint, ReceivedAt: receipt.ReceivedAt}}
		in.ImportedProviders = func() ([]string, error) { return nil, nil }
	})
	again := publishTo(t, d, body)
	require.Equal(t, 200, again.status)
	require.Equal(t, first.Events[0].EventID, again.Events[0].EventID)
	require.Equal(t, "order.paid version 1: /data/id: required", again.Events[0].Warning)
	require.Equal(t, 200, publishTo(t, d, `[`+body+`]`).status)
	require.Equal(t, 422, publishTo(t, d, `[`+body+`,{"id":"2","source":"shop","type":"order.paid","data":{}}]`).status)
	require.Equal(t, 422, publishTo(t, d, `{"id":"1","source":"shop","type":"order.paid","data":{"total":"1"}}`).status)
	require.Len(t, before.receipts(eventtype.Publisher), 1)
}
