package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
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
queues: [{broker: %s, url: %s, name: %s}]
type: .body.type
untyped: reject
key: {parts: [.body.id]}
entities: [{kind: order, id: .body.id, op: snapshot, state: .body}]
refuse: [{when: .body.total < 0, message: the total is negative}]
`

func newInstallationReading(t *testing.T, broker, url, name string) *installation {
	t.Helper()
	dir := t.TempDir()
	text := fmt.Sprintf(queuedOrders, broker, url, name)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "orders.yaml"), []byte(text), 0o600))
	return newInstallation(t, append(impatience, "HOLDFAST_PROVIDERS_DIR="+dir)...)
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
	i := newInstallationReading(t, "nats", "nats://"+b.Address, "ORDERS")
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

// While messages are published, the ingress is killed twice, and the broker once: each message is processed once.
func TestNoMessageOfAQueueIsLost(t *testing.T) {
	t.Parallel()
	t.Run("NATS", func(t *testing.T) {
		t.Parallel()
		b := brokertest.NATS(t, "", "")
		js := jetStream(t, b)
		i := newInstallationReading(t, "nats", "nats://"+b.Address, "ORDERS")
		i.loseNothing(t, b, func(t *testing.T, bodies []string) {
			t.Helper()
			for _, body := range bodies {
				publish(t, js, body)
			}
		})
	})
	t.Run("RabbitMQ", func(t *testing.T) {
		t.Parallel()
		b := brokertest.RabbitMQ(t)
		i := newInstallationReading(t, "rabbitmq", "amqp://"+b.Address, "orders")
		i.loseNothing(t, b, func(t *testing.T, bodies []string) {
			t.Helper()
			publishRabbit(t, b, bodies)
		})
	})
	t.Run("PubSub", func(t *testing.T) { // a stand-in, which delivers all messages again after its kill
		t.Parallel()
		b := brokertest.PubSub(t, "orders")
		i := newInstallationReading(t, "pubsub", "http://"+b.Address, "projects/test/subscriptions/orders")
		conn, err := grpc.NewClient(b.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		topics := pubsubpb.NewPublisherClient(conn)
		i.loseNothing(t, b, func(t *testing.T, bodies []string) {
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
}

// loseNothing publishes messages in three rounds, and checks that each is one event.
func (i *installation) loseNothing(t *testing.T, b *brokertest.Broker, publishAll func(t *testing.T, bodies []string)) {
	t.Helper()
	i.start(t, "worker")
	const each = 150
	for round := range 3 {
		n := i.start(t, "ingress")
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
	i := newInstallationReading(t, "nats", "nats://"+b.Address, "ORDERS")
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
