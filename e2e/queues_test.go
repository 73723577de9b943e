package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"holdfast/internal/devstack/brokertest"
)

// queuedOrders is a definition that reads a queue.
const queuedOrders = `
name: orders
queues: [{%s}]
type: .body.type
untyped: reject
key: {parts: [.body.id]}
entities: [{kind: order, id: .body.id, op: snapshot, state: .body}]
refuse: [{when: .body.total < 0, message: the total is negative}]
`

func newInstallationReading(t *testing.T, queue string, env ...string) *installation {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf(queuedOrders, queue)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "orders.yaml"), []byte(text), 0o600))
	return newInstallation(t, slices.Concat(impatience, env, []string{"HOLDFAST_PROVIDERS_DIR=" + dir})...)
}

func orderMessage(n int) string { return fmt.Sprintf(`{"id":"order_%04d","type":"paid","total":1}`, n) }

// jetStream returns a client of a server with the stream ORDERS, which survives the server's kills.
func jetStream(t *testing.T, b *brokertest.Broker) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect("nats://"+b.Address, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	eventually(t, time.Minute, "the stream exists", func() error {
		_, err := js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders"}})
		return err
	})
	return js
}

// publish sends a message until the server has confirmed it. An ID of NATS would keep the server from storing a repeat.
func publish(t *testing.T, js jetstream.JetStream, body string) {
	t.Helper()
	eventually(t, time.Minute, "the message is published", func() error {
		_, err := js.Publish(t.Context(), "orders", []byte(body))
		return err
	})
}

// Messages of a stream take the path of requests:
//   - one is processed once, however often it is published
//   - one that can't be read, one without a key, one that the definition refuses, and an empty one become dead letters with their
//     bytes, and none of them blocks those behind it
//   - a large one is processed
//   - an HTTP request isn't accepted
//   - the doctor, the console and a command name a queue that can't be read
func TestMessagesOfNATSTakeThePathOfRequests(t *testing.T) {
	t.Parallel()
	b := brokertest.NATS(t, "", "")
	js := jetStream(t, b)
	i := newInstallationReading(t, "broker: nats, name: ORDERS, url: nats://"+b.Address)
	n := i.start(t, "serve")
	poison := []string{`{"id":`, `{"type":"paid","total":1}`, `{"type":"paid","total":1} `, `{"id":"negative","type":"paid","total":-1}`, ``}
	for _, body := range append(poison, orderMessage(1), orderMessage(1)) {
		publish(t, js, body)
	}
	large := `{"id":"large","type":"paid","total":1,"text":"` + strings.Repeat("x", 900_000) + `"}`
	publish(t, js, large)
	i.awaitCount(t, time.Minute, 2, processedEvents)
	i.awaitCount(t, time.Minute, len(poison), openDeadLetters)
	for _, body := range poison {
		require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE raw_body = $1", []byte(body)), body)
	}
	require.Equal(t, 1, i.count(t, "SELECT count(*) FROM dead_letters WHERE error_code = 'refused'"))
	require.Equal(t, 2, i.count(t, "SELECT count(*) FROM dead_letters WHERE error_code = 'missing_key'"))
	eventually(t, time.Minute, "all is acknowledged", func() error {
		out, err := i.run(t, "provider", "queues")
		if err == nil && !strings.Contains(out, "ok") {
			err = fmt.Errorf("%s", out)
		}
		return err
	})
	a, err := n.post("/webhooks/orders", []byte(orderMessage(2)))
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, a.status)
	require.Contains(t, n.metrics(t), `holdfast_source_queue_up{broker="nats",`)

	b.Kill(t)
	eventually(t, time.Minute, "the doctor says so", func() error {
		out, err := i.run(t, "doctor", "--wide")
		if err == nil || !strings.Contains(out, "source queue orders ") {
			return fmt.Errorf("%s", out)
		}
		return nil
	})
	out, err := i.run(t, "provider", "queues")
	require.Error(t, err)
	require.Contains(t, out, "queue_unreachable")
}

// While messages are published, the ingress is killed twice, and the broker once: each message is processed once. With SQS, events
// are also delivered to a queue there, the process that is killed delivers, too, and poison messages don't block the queue.
func TestNoMessageOfAQueueIsLost(t *testing.T) {
	t.Parallel()
	t.Run("NATS", func(t *testing.T) {
		t.Parallel()
		b := brokertest.NATS(t, "", "")
		js := jetStream(t, b)
		i := newInstallationReading(t, "broker: nats, name: ORDERS, url: nats://"+b.Address)
		i.loseNothing(t, b, "ingress", func(t *testing.T, bodies []string) {
			t.Helper()
			for _, body := range bodies {
				publish(t, js, body)
			}
		})
	})
	t.Run("RabbitMQ", func(t *testing.T) {
		t.Parallel()
		b := brokertest.RabbitMQ(t)
		i := newInstallationReading(t, "broker: rabbitmq, name: orders, url: amqp://"+b.Address)
		i.loseNothing(t, b, "ingress", func(t *testing.T, bodies []string) {
			t.Helper()
			publishRabbit(t, b, bodies)
		})
	})
	t.Run("PubSub", func(t *testing.T) { // a stand-in, which delivers all messages again after its kill
		t.Parallel()
		b := brokertest.PubSub(t, "orders")
		i := newInstallationReading(t, "broker: pubsub, name: projects/test/subscriptions/orders, url: http://"+b.Address)
		conn, err := grpc.NewClient(b.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		topics := pubsubpb.NewPublisherClient(conn)
		i.loseNothing(t, b, "ingress", func(t *testing.T, bodies []string) {
			t.Helper()
			for _, body := range bodies {
				request := &pubsubpb.PublishRequest{
					Topic: "projects/test/topics/orders", Messages: []*pubsubpb.PubsubMessage{{Data: []byte(body)}},
				}
				eventually(t, time.Minute, "the message is published", func() error {
					_, err := topics.Publish(t.Context(), request)
					return err
				})
			}
		})
	})
	t.Run("SQS", func(t *testing.T) {
		t.Parallel()
		b := brokertest.SQS(t)
		b.SQSQueue(t, "paid.fifo")
		url := "http://" + b.Address + "/" + brokertest.SQSAccount
		i := newInstallationReading(t, "broker: sqs, name: orders, user: AKIAME, secrets: ORDERS_SQS_SECRET, url: "+url,
			"ORDERS_SQS_SECRET=sesame-sesame", "PAID_SQS_SECRET=sesame-sesame", "HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=127.0.0.0/8")
		i.deliverToSQS(t, url)
		publishAll := func(t *testing.T, bodies []string) {
			t.Helper()
			b.PublishSQS(t, "orders", bodies)
		}
		i.loseNothing(t, b, "serve", publishAll)
		const all = 451
		publishAll(t, []string{`{"id":`, `{"type":"paid","total":1}`, orderMessage(all)})
		i.awaitCount(t, time.Minute, all, processedEvents)
		i.awaitCount(t, time.Minute, 2, openDeadLetters)
		i.awaitCount(t, 3*time.Minute, all, "SELECT count(*) FROM deliveries WHERE status = 'delivered'")
		ids := map[string]string{}
		for _, m := range b.ReadSQS(t, "paid.fifo") {
			of, id := *m.MessageAttributes["holdfast-event-id"].StringValue, *m.MessageAttributes["webhook-id"].StringValue
			if ids[of] != "" {
				require.Equal(t, ids[of], id, "a repeat has the same ID")
			}
			ids[of] = id
		}
		require.Len(t, ids, all)
	})
}

// deliverToSQS subscribes a FIFO queue to all events, and checks it.
func (i *installation) deliverToSQS(t *testing.T, url string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "subscriptions.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `
destinations:
  paid:
    sqs: {url: %s, user: AKIAME, secrets: PAID_SQS_SECRET, queue: paid.fifo, group: .event.key}
    retry: {attempts: 100, initial: 100ms, maximum: 1s}
subscriptions:
  paid: {events: {providers: [orders]}, to: paid, body: cloudevents}
`, url), 0o600))
	out, err := i.run(t, "subscription", "apply", "-f", file)
	require.NoError(t, err, out)
	out, _ = i.run(t, "subscription", "check", "paid") // fails, since there is no sample of an event
	require.Contains(t, out, "paid.fifo exists")
}

// loseNothing publishes messages in three rounds to processes of a role, and checks that each is one event.
func (i *installation) loseNothing(
	t *testing.T, b *brokertest.Broker, role string, publishAll func(t *testing.T, bodies []string),
) {
	t.Helper()
	i.start(t, "worker")
	const each = 150
	for round := range 3 {
		n := i.start(t, role)
		var bodies []string
		for k := range each {
			bodies = append(bodies, orderMessage(round*each+k))
		}
		publishAll(t, bodies)
		if round == 1 {
			b.Kill(t)
			b.Start(t)
		}
		if round < 2 {
			n.kill()
		}
	}
	i.awaitCount(t, 2*time.Minute, 3*each, processedEvents)
	require.Equal(t, 3*each, i.count(t, "SELECT count(DISTINCT key) FROM events"))
	require.Zero(t, i.count(t, "SELECT count(*) FROM dead_letters"))
}

// publishRabbit sends messages to the queue orders, and waits until RabbitMQ has confirmed them. The queue is a classic one:
// after kill -9, a quorum queue on a single RabbitMQ 3.10.8 sometimes stays without a leader.
func publishRabbit(t *testing.T, b *brokertest.Broker, bodies []string) {
	t.Helper()
	conn, err := amqp091.Dial("amqp://guest:guest@" + b.Address)
	require.NoError(t, err)
	defer func() { _ = conn.CloseDeadline(time.Now().Add(time.Second)) }() // all is confirmed by then
	channel, err := conn.Channel()
	require.NoError(t, err)
	require.NoError(t, channel.Confirm(false))
	_, err = channel.QueueDeclare("orders", true, false, false, false, amqp091.Table{"x-queue-type": "classic"})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute*busy)
	defer cancel()
	for _, body := range bodies {
		sent, err := channel.PublishWithDeferredConfirmWithContext(ctx, "", "orders", true, false, amqp091.Publishing{
			DeliveryMode: amqp091.Persistent, Body: []byte(body),
		})
		require.NoError(t, err)
		isStored, err := sent.WaitContext(ctx)
		require.NoError(t, err)
		require.True(t, isStored, "RabbitMQ has refused the message")
	}
}

// While PostgreSQL and Temporal are away, nothing is acknowledged, and only a few messages are read.
func TestNothingIsAcknowledgedWithoutStores(t *testing.T) {
	t.Parallel()
	b := brokertest.NATS(t, "", "")
	js := jetStream(t, b)
	for k := range 500 {
		publish(t, js, orderMessage(k))
	}
	i := newInstallationReading(t, "broker: nats, name: ORDERS, url: nats://"+b.Address)
	away := i.launch(t, "ingress", "DATABASE_URL=postgres://127.0.0.1:1/none?sslmode=disable", "TEMPORAL_ADDRESS=127.0.0.1:1")
	eventually(t, time.Minute, "messages are held", func() error {
		if !strings.Contains(away.log.String(), "queue_held") {
			return fmt.Errorf("%s", away.log.String())
		}
		return nil
	})
	consumer, err := js.Consumer(t.Context(), "ORDERS", "holdfast-orders")
	require.NoError(t, err)
	info, err := consumer.Info(t.Context())
	require.NoError(t, err)
	require.Zero(t, info.AckFloor.Consumer)
	require.Less(t, info.NumAckPending, 100)
	away.kill()

	i.start(t, "serve")
	i.awaitCount(t, 3*time.Minute, 500, processedEvents)
}
