package providers

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/providers/auth"
	"holdfast/providers/auth/denial"
	"holdfast/providers/definition"
)

const queued = `
name: orders
queues: [{broker: nats, url: "nats://nats.internal", name: ORDERS}]
keep: {headers: [nats-msg-id]}
type: .body.type
key: {parts: ['.headers["nats-msg-id"]']}
refuse: [{when: .body.total < 0, message: the total is negative}]
`

func loadQueued(t *testing.T, text string) (*Provider, error) {
	t.Helper()
	catalogue, err := Load(writeDefinitions(t, map[string]string{"orders.yaml": text}))
	if err != nil {
		return nil, err
	}
	p, ok := catalogue.Lookup("orders")
	require.True(t, ok)
	return p, nil
}

// A definition that only reads queues:
//   - accepts no HTTP request, whatever secrets there are
//   - makes keys of headers, because the broker has authenticated the whole message
//   - refuses nothing of a queue, since no one would get the answer: the parse step rejects it, until the definition is corrected
func TestEventsOfAQueue(t *testing.T) {
	t.Parallel()
	p, err := loadQueued(t, queued)
	require.NoError(t, err)
	r := &auth.Request{
		Method: "POST", Header: map[string][]string{"nats-msg-id": {"m1"}}, Body: []byte(`{"type":"paid","order":"o1","total":-1}`),
	}
	denied := p.Bound(func(string) []string { return []string{"a secret that is long enough"} }).Authenticate(r, time.Now())
	var refused *denial.Error
	require.ErrorAs(t, denied, &refused)
	require.Equal(t, denial.OnlyQueued, refused.Reason)
	require.Equal(t, "queues only, no HTTP requests", refused.Scheme)

	items, err := p.SplitQueued(r, "ORDERS:1")
	require.NoError(t, err)
	require.Len(t, items, 1)
	require.Equal(t, "m1", items[0].Key)
	require.Equal(t, event.ViaQueue, items[0].Via)
	receipt := receiptOfTest(p, items[0])
	receipt.Via = items[0].Via
	_, err = p.Parse(receipt, items[0].Body)
	require.Equal(t, "refused", event.CodeOf(err))
	require.ErrorContains(t, err, "the total is negative")
	require.Equal(t, event.ClassRejected, event.ClassOf(err))
}

// Messages without a key become dead letters, and two of them aren't one because their bodies are equal. Two deliveries of a message
// are. So are messages that can't be split.
func TestMessagesWithoutAKey(t *testing.T) {
	t.Parallel()
	p, err := loadQueued(t, queued)
	require.NoError(t, err)
	r := &auth.Request{Method: "POST", Body: []byte(`{"type":"paid","order":"o1","total":1}`)}
	keyAt := func(position string) string {
		items, err := p.SplitQueued(r, position)
		require.NoError(t, err)
		require.Equal(t, event.KeyFromNothing, items[0].KeyFrom)
		unread := p.UnreadQueued(r, position)
		require.Equal(t, items[0].Key, unread[0].Key)
		for _, item := range []event.Receipt{receiptOfTest(p, items[0]), receiptOfTest(p, unread[0])} {
			_, err = p.Parse(item, r.Body)
			require.Equal(t, "missing_key", event.CodeOf(err))
		}
		return items[0].Key
	}
	for _, position := range []string{"ORDERS:1", ""} {
		first := keyAt(position)
		require.Equal(t, first, keyAt(position))
		require.NotEqual(t, first, keyAt("ORDERS:2"))
	}
}

// An empty message is a dead letter, unless the definition ignores it.
func TestAnEmptyMessage(t *testing.T) {
	t.Parallel()
	p, err := loadQueued(t, queued)
	require.NoError(t, err)
	items, err := p.SplitQueued(&auth.Request{}, "ORDERS:1")
	require.NoError(t, err)
	require.Len(t, items, 1)
	_, err = p.Parse(receiptOfTest(p, items[0]), nil)
	require.Equal(t, "empty_body", event.CodeOf(err))

	p, err = loadQueued(t, queued+"empty: ignore\n")
	require.NoError(t, err)
	items, err = p.SplitQueued(&auth.Request{}, "ORDERS:1")
	require.NoError(t, err)
	require.Empty(t, items)
}

func TestMistakesOfQueues(t *testing.T) {
	t.Parallel()
	for written, want := range map[string]string{
		`{url: "nats://a", name: X}`:                                                         "broker",
		`{broker: nats, name: X}`:                                                            "url",
		`{broker: nats, url: "nats://a"}`:                                                    "name",
		`{broker: nast, url: "nats://a", name: X}`:                                           "did you mean nats",
		`{broker: nats, url: "amqp://a", name: X}`:                                           "must begin with nats://",
		`{broker: nats, url: "nats://me:secret@a", name: X}`:                                 "must not have credentials",
		`{broker: nats, url: "nats://a", name: X, secrets: hunter2}`:                         "never the secret itself",
		`{broker: pubsub, url: "https://a", name: orders}`:                                   "must be projects/PROJECT/subscriptions/NAME",
		`{broker: pubsub, url: "https://a", name: projects/p/subscriptions/s, user: me}`:     "isn't used",
		`{broker: pubsub, url: "https://a,b", name: projects/p/subscriptions/s}`:             "must have one host",
		`{broker: pubsub, url: "https://a", name: projects/p/subscriptions/s, proxy: out}`:   "needs secrets",
		`{broker: rabbitmq, url: "amqp://a", name: X, group: g}`:                             "is for nats and kafka only",
		`{broker: kafka, url: "kafka://a", name: X, subjects: [a]}`:                          "is for nats only",
		`{broker: nats, url: "nats://a", name: X, certificate: A_CERTIFICATE}`:               "and key must both be set",
		`{broker: nats, url: "nats://a", name: X, certificate: A_CERTIFICATE, key: hunter2}`: "never the secret itself",
		`{broker: sqs, url: "sqs://a", name: X, user: u, secrets: S}`:                        "must begin with https:// or http://",
		`{broker: sqs, url: "https://a/1", name: X, secrets: S}`:                             "user",
		`{broker: sqs, url: "https://a/1", name: X, user: u}`:                                "secrets",
		`{broker: nats, url: "nats://a", name: X, authorities: AN_AUTHORITY}`:                "must begin with tls://, because",
		`{broker: kafka, url: "kafka://a", name: X, certificate: A_CERTIFICATE, key: A_KEY}`: "must begin with kafkas://, because",
		`{broker: nats, url: "nats://a", name: X, prefetch: 1001}`:                           "1 to 1000",
		`{broker: kafka, url: "kafka://a", name: X, mechanism: SCRAM-SHA-265}`:               "did you mean SCRAM-SHA-256",
		`{broker: nats, url: "nats://a", name: X}, {broker: nats, url: "nats://b", name: X}`: "listed twice",
	} {
		_, err := loadQueued(t, "name: orders\nqueues: ["+written+"]\ntype: .body.type\nkey: {parts: [.body.id]}\n")
		var mistake *definition.Error
		require.ErrorAs(t, err, &mistake, written)
		require.ErrorContains(t, err, want, written)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

// A message that couldn't be split in time gets the key of its event when it is processed, so that a second delivery that could be
// split is the same event. A batch is split then.
func TestAnUnsplitMessageIsIdentifiedLater(t *testing.T) {
	t.Parallel()
	p, err := loadQueued(t, queued)
	require.NoError(t, err)
	r := &auth.Request{Header: map[string][]string{"nats-msg-id": {"m1"}}, Body: []byte(`{"type":"paid","order":"o1","total":1}`)}
	items, err := p.SplitQueued(r, "ORDERS:1")
	require.NoError(t, err)
	unsplit := p.UnreadQueued(r, "ORDERS:1")[0]
	unsplit.ID, unsplit.ReceivedAt = "00000000-0000-7000-8000-000000000000", clock
	parsed, err := p.Parse(unsplit.Receipt, unsplit.Body)
	require.NoError(t, err)
	require.NotNil(t, parsed.Identity)
	require.Equal(t, items[0].Key, parsed.Identity.Key)

	p, err = loadQueued(t, queued+"batch: {items: events}\n")
	require.NoError(t, err)
	r.Body = []byte(`{"events":[{"type":"paid","total":1},{"type":"paid","total":2}]}`)
	unsplit = p.UnreadQueued(r, "ORDERS:1")[0]
	_, splits, err := p.SplitAgain(unsplit.Receipt, unsplit.Body)
	require.NoError(t, err)
	require.True(t, splits)
}

// A message over the limit is a dead letter with its beginning, its size and its position, even if the beginning could be read. An
// operator can replace the body.
func TestAMessageThatIsTooLarge(t *testing.T) {
	t.Parallel()
	p, err := loadQueued(t, queued)
	require.NoError(t, err)
	r := &auth.Request{
		Header: map[string][]string{"nats-msg-id": {"m1"}},
		Body:   []byte(`{"type":"paid","total":1}` + strings.Repeat(" ", event.MaxBody)),
	}
	cut := p.CutQueued(r, "ORDERS:1")[0]
	require.Equal(t, string(r.Body[:64<<10]), string(cut.Body))
	cut.ID, cut.ReceivedAt = "00000000-0000-7000-8000-000000000000", clock
	_, err = p.Parse(cut.Receipt, cut.Body)
	require.Equal(t, "too_large", event.CodeOf(err))
	require.Equal(t, event.ClassRejected, event.ClassOf(err))
	require.ErrorContains(t, err, "ORDERS:1 has 26214425 bytes")
	r.Body = append(r.Body[:len(r.Body):len(r.Body)], ' ')
	unnumbered := p.CutQueued(r, "")[0]
	require.NotEqual(t, cut.Key, unnumbered.Key)
	_, err = p.Parse(unnumbered.Receipt, unnumbered.Body)
	require.ErrorContains(t, err, "the message has 26214426 bytes")

	cut.Replaces = cut.ID
	_, err = p.Parse(cut.Receipt, []byte(`{"type":"paid","total":1}`))
	require.NoError(t, err)
}
