package destination

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/delivery/admin"
	"holdfast/delivery/declared"
	"holdfast/delivery/handoff"
	"holdfast/delivery/webhook"
	"holdfast/event"
)

var update = flag.Bool("update", false, "write the golden files")

func exampleFile(t *testing.T) file {
	t.Helper()
	text, err := os.ReadFile("testdata/subscriptions.yaml")
	require.NoError(t, err)
	f, err := readFile(text)
	require.NoError(t, err)
	return f
}

// mistakesIn returns what a check of the file finds.
func mistakesIn(f file, stored declared.State) error {
	return ProblemsOf(f.data, f.Check(stored, webhook.CheckSignature))
}

// A file describes the desired state: days are valid durations, subscriptions default to active, and any signature can be
// declared.
func TestAFileIsRead(t *testing.T) {
	t.Parallel()
	f := exampleFile(t)
	require.NoError(t, mistakesIn(f, declared.State{}))
	crm := f.Destinations["crm"]
	require.Equal(t, "crm", crm.Name)
	require.Equal(t, event.Duration(7*24*time.Hour), crm.Keep)
	require.Equal(t, &delivery.Rate{Requests: 50, Per: event.Duration(time.Second)}, crm.Rate)
	require.Zero(t, *crm.Retry.Jitter)
	require.JSONEq(t, `{"hmac":{"signed":"{timestamp}.{body}","signature":{"header":"x-signature","grammar":"pairs","separator":",",
		"field":"v1"},"timestamp":{"field":"t","unit":"s"}}}`, string(f.Destinations["legacy"].HTTP.Signature))
	settle := f.Subscriptions["settle-order"]
	require.Equal(t, "OrderWorkflow", settle.SignalWithStart.Type)
	require.Equal(t, []delivery.JQ{"envelope"}, settle.SignalWithStart.SignalInput)
	require.True(t, settle.Active)
	require.False(t, f.Subscriptions["old-orders"].Active)

	empty, err := readFile(nil)
	require.NoError(t, err)
	require.Empty(t, empty.Destinations)
}

// An empty file, as a broken template may produce, deletes nothing.
func TestAnEmptyFilePrunesNothing(t *testing.T) {
	t.Parallel()
	_, err := declared.PlanOf(declared.State{}, declared.State{}, true)
	require.ErrorIs(t, err, declared.ErrNothingDeclared)
	_, err = declared.PlanOf(declared.State{}, declared.State{}, false)
	require.NoError(t, err)
}

// Errors have their line or field, and those that need a check are reported together.
func TestMistakesInAFile(t *testing.T) {
	t.Parallel()
	for text, wanted := range map[string]string{
		"destinations:\n  crm:\n    http: {uri: x}\n":                           `[3:12] unknown field "uri"`,
		"destinations:\n  crm:\n    colour: blue\n":                             `[3:5] unknown field "colour"`,
		"subscription: {}\n":                                                    `[1:1] unknown field "subscription"`,
		"destinations:\n  crm: {}\n  crm: {}\n":                                 `[3:3] mapping key "crm" already defined at [2:3]`,
		"destinations:\n  crm: {keep: 7x}\n":                                    `[2:15] invalid duration "7x": use 30s, 2h or 7d`,
		"destinations:\n  crm: {keep: forever}\n":                               `[2:15] invalid duration "forever"`,
		"destinations:\n  1x: {rate: {requests: 5, per: \"1x\"}}\n":             `[2:33] invalid duration "1x"`,
		"destinations:\n  crm: {in_flight: many}\n":                             `[2:20] cannot unmarshal string`,
		"destinations:\n  crm: {id: 7}\n":                                       `destinations.crm: remove id, name and version`,
		"subscriptions:\n  a:\n    start: {workflow: x}\n":                      `[3:13] unknown field "workflow"`,
		"subscriptions:\n  a:\n    signal_with_start: {workflow_id: x, y: 1}\n": `unknown field "y"`,
		"destinations: {}\n---\ndestinations: {}\n":                             `more than one document`,
		"- 1\n": `[1:1]`,
	} {
		_, err := readFile([]byte(text))
		require.ErrorContains(t, err, wanted, text)
	}

	_, err := readFile([]byte("destinations:\n  a: {colour: blue}\n  b: {keep: 7x}\nsubscriptions:\n  c: {too: a}\n"))
	for _, wanted := range []string{`[2:7] unknown field "colour"`, `[3:13] invalid duration "7x"`, `[5:7] unknown field "too"`} {
		require.ErrorContains(t, err, wanted, "all at once")
	}

	f, err := readFile([]byte(strings.ReplaceAll(`destinations:
	crm: {http: {url: ftp://x}}
	own: {http: {url: https://own.example.com, signature: {rot13: {}}}}
	queue: {temporal: {task_queue: q}}
subscriptions:
	a: {to: nowhere}
	b: {to: queue}
	c: {to: known, events: {filter: ".body ="}}
	`, "\t", "  ")))
	require.NoError(t, err)
	there := declared.State{Destinations: map[string]delivery.Destination{"known": {Name: "known", HTTP: &delivery.HTTP{URL: "https://k"}}}}
	err = mistakesIn(f, there)
	for _, wanted := range []string{
		"[2:16] destinations.crm: http.url must be a URL with http or https",
		"[3:46] destinations.own: http.signature",
		`[6:7] subscriptions.a: to: unknown destination "nowhere"`,
		"[7:3] subscriptions.b: start or signal or signal_with_start is missing: queue is a task queue",
		"[8:27] subscriptions.c: events.filter",
	} {
		require.ErrorContains(t, err, wanted)
	}
}

// A plan shows what is created, changed field by field, deleted and left alone.
func TestAPlan(t *testing.T) {
	t.Parallel()
	f := exampleFile(t)
	orders, crm := f.Destinations["orders"], f.Destinations["crm"]
	orders.ID, orders.Version, crm.ID = 1, 7, 2
	crm.Keep, crm.Rate = 0, nil
	pasted := f.Destinations["crm"]
	h := *pasted.HTTP
	h.Certificate, h.Key = "-----BEGIN CERTIFICATE-----", "-----BEGIN PRIVATE KEY-----hunter2"
	pasted.HTTP = &h
	withKey := declared.State{Destinations: map[string]delivery.Destination{"crm": pasted}}
	hides, err := declared.PlanOf(withKey, declared.State{Destinations: map[string]delivery.Destination{"crm": crm}}, false)
	require.NoError(t, err)
	hides.Hide()
	hidden, err := json.Marshal(hides)
	require.NoError(t, err)
	require.Contains(t, string(hidden), `"http.key"`)
	require.NotContains(t, string(hidden), "hunter")
	crm.HTTP = &delivery.HTTP{URL: "https://old.example.com", Secrets: "CRM_SECRET", Headers: map[string]string{"X-Tenant": "hunter1"}}
	settle := f.Subscriptions["settle-order"]
	settle.ID, settle.DestinationID = 1, 1
	settle.Events.Types, settle.Events.Filter = []string{"payment_intent.succeeded"}, ""
	there := declared.State{
		Destinations: map[string]delivery.Destination{"orders": orders, "crm": crm, "gone": {Name: "gone"}},
		Subscriptions: map[string]declared.Subscription{
			"settle-order": settle, "gone": {Subscription: delivery.Subscription{Name: "gone", To: "gone"}},
		},
	}
	for name, prune := range map[string]bool{"plan": false, "prune": true} {
		p, err := declared.PlanOf(f.State, there, prune)
		require.NoError(t, err)
		p.Hide()
		for i, c := range p.Changes {
			if c.Op == declared.Delete && c.Kind == declared.KindSubscription {
				p.Changes[i].Canceled = 412
			}
		}
		p.Warn(f.State, there, (&admin.Service{
			CheckAddress: webhook.CheckAddress(nil), CheckFiles: webhook.CheckFiles(""),
			Providers: func() []string { return []string{"github"} }, Reserved: handoff.Reserved{}.Conflicts,
		}).Warnings)
		var out strings.Builder
		require.NoError(t, WritePlan(&out, p))
		require.NotContains(t, out.String(), "hunter")
		requireGolden(t, "testdata/"+name+".golden.txt", out.String())
		asJSON, err := json.Marshal(p)
		require.NoError(t, err)
		require.NotContains(t, string(asJSON), "hunter")
	}

	same, err := declared.PlanOf(f.State, declared.State{
		Destinations: f.Destinations, Subscriptions: map[string]declared.Subscription{"settle-order": f.Subscriptions["settle-order"]},
	}, true)
	require.NoError(t, err)
	require.Equal(t, 4, same.Same)
	require.Len(t, same.Changes, 2)
}

// A plan warns of names that Holdfast reserves, once for each change that must be corrected: of a destination's queue at the
// destination, of what a subscription starts at the subscription, also if the destination is stored already.
func TestAPlanWarnsOfReservedNames(t *testing.T) {
	t.Parallel()
	f, err := readFile([]byte(`destinations:
  own: {temporal: {task_queue: events}}
  team: {temporal: {task_queue: events, profile: team}}
subscriptions:
  a: {to: own, start: {workflow_id: '"stripe:" + .body.id', type: ProcessEvent}}
  b: {to: team, start: {workflow_id: '"stripe:" + .body.id', type: ProcessEvent}}
  c: {to: there, signal: {workflow_id: '"order:" + .body.id', signal_name: paid}}
`))
	require.NoError(t, err)
	there := declared.State{Destinations: map[string]delivery.Destination{
		"there": {Name: "there", Temporal: &delivery.Temporal{TaskQueue: "events"}},
	}}
	require.NoError(t, mistakesIn(f, there))
	p, err := declared.PlanOf(f.State, there, false)
	require.NoError(t, err)
	p.Warn(f.State, there, (&admin.Service{Providers: func() []string { return []string{"stripe"} }, Reserved: handoff.Reserved{
		TaskQueues: []string{"events"}, WorkflowTypes: []string{"ProcessEvent"}, Providers: func() []string { return []string{"stripe"} },
	}.Conflicts}).Warnings)
	warned := map[string][]string{}
	for _, c := range p.Changes {
		for _, text := range c.Warnings {
			require.Contains(t, text, "reserved in Holdfast's own namespace")
			require.Contains(t, text, "every delivery fails")
			warned[c.Name] = append(warned[c.Name], text[:strings.Index(text, " ")])
		}
	}
	require.Equal(t, map[string][]string{"own": {"task"}, "a": {"workflow", "workflow"}, "c": {"task"}}, warned)
}

func requireGolden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run go test -update and read what it writes")
	require.Equal(t, string(want), got)
}

// A merge key that would change a field is refused with its line; one that adds fields works.
func TestAFileHasNoAmbiguousMergeKeys(t *testing.T) {
	t.Parallel()
	const base = "destinations:\n  a: &a {http: {url: https://a.example}, timeout: 5s}\n  b:\n"
	f, err := readFile([]byte(base + "    <<: *a\n    in_flight: 7\n"))
	require.NoError(t, err)
	require.Equal(t, "https://a.example", f.Destinations["b"].HTTP.URL)
	for _, fields := range []string{"    timeout: 9s\n    <<: *a\n", "    <<: *a\n    timeout: 9s\n"} {
		_, err = readFile([]byte(base + fields))
		require.ErrorContains(t, err, "duplicate key")
	}
}

// A queue has its connection and its own fields side by side.
func TestAQueueIsDeclared(t *testing.T) {
	t.Parallel()
	f, err := readFile([]byte(`
destinations:
  stock: {nats: {url: nats://nats.example.com, user: me, stream: STOCK, subject: '"stock." + .event.type'}, rate: {requests: 5, per: 1s}}
  shop: {rabbitmq: {url: amqps://mq.example.com/shop, exchange: orders, routing_key: .event.type}}
  log: {kafka: {url: "kafka://a:9092,b:9092", topic: events, partition_key: .event.key}}
  cloud: {pubsub: {url: "https://pubsub.googleapis.com", topic: projects/shop/topics/orders, ordering_key: .event.key}}
  paid: {sqs: {url: "https://sqs.eu-central-1.amazonaws.com/123456789012", user: AKIAME, queue: paid.fifo, group: .event.key}}
subscriptions:
  orders: {to: stock, body: cloudevents}
`))
	require.NoError(t, err)
	require.NoError(t, mistakesIn(f, declared.State{}))
	require.Equal(t, delivery.NATS{
		Connection: delivery.Connection{URL: "nats://nats.example.com", User: "me"}, Stream: "STOCK", Subject: `"stock." + .event.type`,
	}, *f.Destinations["stock"].NATS)
	require.Equal(t, delivery.JQ(".event.type"), f.Destinations["shop"].RabbitMQ.RoutingKey)
	require.Equal(t, "kafka://a:9092,b:9092", f.Destinations["log"].Broker().URL)
	require.Equal(t, "projects/shop/topics/orders", f.Destinations["cloud"].PubSub.Topic)
	require.Equal(t, "paid.fifo", f.Destinations["paid"].SQS.Queue)
	_, err = readFile([]byte("destinations: {stock: {nats: {url: nats://a, sream: STOCK}}}"))
	require.ErrorContains(t, err, "sream")
}
