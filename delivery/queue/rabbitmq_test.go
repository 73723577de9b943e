package queue_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/delivery/webhook"
	"holdfast/internal/devstack/brokertest"
)

// rabbit is a server that can be killed.
type rabbit struct{ *brokertest.Broker }

func (r rabbit) url() string { return "amqp://" + r.Address }

func (r rabbit) channel(t *testing.T) *amqp091.Channel {
	t.Helper()
	conn, err := amqp091.Dial(r.url())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.CloseDeadline(time.Now().Add(answerLimit)) })
	var ch *amqp091.Channel
	within(t, answerLimit, "opening a channel", func() (err error) {
		ch, err = conn.Channel()
		return err
	})
	return ch
}

// answerLimit bounds calls of the client, which waits for an answer as long as the connection is alive.
const answerLimit = time.Minute

func declare(t *testing.T, ch *amqp091.Channel, queue string, arguments amqp091.Table) {
	t.Helper()
	within(t, answerLimit, "declaring the queue "+queue, func() error {
		_, err := ch.QueueDeclare(queue, true, false, false, false, arguments)
		return err
	})
}

// get takes a message, which must be there.
func get(t *testing.T, ch *amqp091.Channel, queue string) (got amqp091.Delivery) {
	t.Helper()
	within(t, answerLimit, "reading from the queue "+queue, func() error {
		one, ok, err := ch.Get(queue, true)
		if err == nil && !ok {
			err = errors.New("it is empty")
		}
		got = one
		return err
	})
	return got
}

func toRabbitMQ(url string, change func(*delivery.RabbitMQ)) delivery.Target {
	to := &delivery.RabbitMQ{Connection: delivery.Connection{URL: url}, RoutingKey: `"stock"`}
	if change != nil {
		change(to)
	}
	return delivery.Target{Destination: delivery.Destination{ID: 2, Name: "shop", RabbitMQ: to}}
}

// One server serves all of these: starting one takes seconds of CPU.
func TestRabbitMQ(t *testing.T) {
	t.Parallel()
	server := rabbit{brokertest.RabbitMQ(t)}
	ch := server.channel(t)
	declare(t, ch, "stock", amqp091.Table{"x-queue-type": "classic"})
	declare(t, ch, "full", amqp091.Table{"x-max-length": 1, "x-overflow": "reject-publish"})
	s := newSender(t, webhook.SenderOptions{})

	t.Run("a queue confirms a delivery", func(t *testing.T) {
		to := toRabbitMQ(server.url(), nil)
		to.Subscription.Body = delivery.BodyCloudEventsBinary
		j, m := order(1)
		r := send(t, s, to, j, m)
		require.Equal(t, delivery.OK, r.Kind, r)
		got := get(t, ch, "stock")
		require.Equal(t, j.ID(), got.MessageId)
		require.Equal(t, amqp091.Persistent, got.DeliveryMode)
		require.Equal(t, "order.paid", got.Type)
		require.Equal(t, "application/json", got.ContentType)
		require.JSONEq(t, `{"number":1}`, string(got.Body))
		require.Equal(t, "/events/shop", got.Headers["cloudEvents_source"])
		require.Equal(t, m.Receipt.ID, got.Headers["holdfast-event-id"])
		j.Generation++
		require.Equal(t, delivery.OK, send(t, s, to, j, m).Kind)
		got = get(t, ch, "stock")
		require.True(t, strings.HasSuffix(got.MessageId, "-1"), got.MessageId)
	})

	t.Run("refusals", func(t *testing.T) {
		j, m := order(2)
		full := toRabbitMQ(server.url(), func(q *delivery.RabbitMQ) { q.RoutingKey = `"full"` })
		require.Equal(t, delivery.OK, send(t, s, full, j, m).Kind)
		typed := m
		typed.Receipt.Headers = map[string]string{"content-type": "text/plain; x=" + strings.Repeat("a", 300)}
		for name, c := range map[string]struct {
			to   delivery.Target
			m    delivery.Message
			kind delivery.Kind
			code string
		}{
			"full":        {full, m, delivery.Busy, "full"},
			"no queue":    {toRabbitMQ(server.url(), func(q *delivery.RabbitMQ) { q.RoutingKey = `"nobody"` }), m, delivery.Missing, "unroutable"},
			"no exchange": {toRabbitMQ(server.url(), func(q *delivery.RabbitMQ) { q.Exchange = "gone" }), m, delivery.Blocked, "no_queue"},
			"a long key": {
				toRabbitMQ(server.url(), func(q *delivery.RabbitMQ) { q.RoutingKey = `"a" * 256` }), m, delivery.Final, "invalid_name",
			},
			"a long type": {toRabbitMQ(server.url(), nil), typed, delivery.Final, "invalid_name"},
			"no login": {
				toRabbitMQ(server.url(), func(q *delivery.RabbitMQ) { q.User = "nobody" }), m, delivery.Blocked, "credentials",
			},
			"no virtual host": {toRabbitMQ(server.url()+"/gone", nil), m, delivery.Blocked, "credentials"},
		} {
			for range 2 { // a failure mustn't break the next attempt
				r := send(t, s, c.to, j, c.m)
				require.Equal(t, c.kind, r.Kind, "%s: %+v", name, r)
				require.Equal(t, c.code, r.Code, "%s: %+v", name, r)
			}
		}
		found := check(t, s, toRabbitMQ(server.url(), func(q *delivery.RabbitMQ) { q.Exchange = "gone" }))
		require.Contains(t, found[0].Text, "no_queue")
		found = check(t, s, toRabbitMQ(server.url(), func(q *delivery.RabbitMQ) { q.Exchange = "amq.topic" }))
		require.True(t, found[0].OK && found[1].OK, found)
	})

	t.Run("checks leave no channel open", func(t *testing.T) {
		for range 2100 { // a connection has 2,047
			found := check(t, s, toRabbitMQ(server.url(), nil))
			require.True(t, found[0].OK, found)
		}
	})

	t.Run("a broker with an alarm is busy", func(t *testing.T) {
		to := toRabbitMQ(server.url(), nil)
		server.Control(t, "set_vm_memory_high_watermark", "absolute", "1")
		var r delivery.Result
		require.Eventually(t, func() bool {
			j, m := order(3)
			r = sendWithin(t.Context(), s, to, j, m, time.Second)
			return r.Kind != delivery.OK
		}, 20*time.Second, 10*time.Millisecond)
		require.Equal(t, delivery.Busy, r.Kind, r)
		require.Equal(t, "blocked", r.Code)
		server.Control(t, "set_vm_memory_high_watermark", "0.4")
		require.Eventually(t, func() bool {
			j, m := order(4)
			return send(t, s, to, j, m).Kind == delivery.OK
		}, 20*time.Second, 50*time.Millisecond)
	})

	t.Run("it is killed under load", func(t *testing.T) {
		// A classic queue: a quorum queue of one node of 3.10.8 sometimes elects no leader after such a death ("leader not known").
		declare(t, ch, "load", nil)
		to := toRabbitMQ(server.url(), func(q *delivery.RabbitMQ) { q.RoutingKey = `"load"` })
		ids := deliverThroughCrashes(t, s, to, 1500, func() {
			server.Kill(t)
			server.Start(t)
		})
		var messages <-chan amqp091.Delivery
		reader := server.channel(t)
		within(t, answerLimit, "consuming", func() (err error) {
			messages, err = reader.Consume("load", "", true, false, false, false, nil)
			return err
		})
		stored, timeout := map[string]bool{}, time.After(2*time.Minute)
		for len(stored) < len(ids) {
			select {
			case got, ok := <-messages:
				require.True(t, ok, "the queue can be read")
				require.True(t, ids[got.MessageId], "duplicates carry the same ID")
				stored[got.MessageId] = true
			case <-timeout:
				require.Len(t, stored, len(ids), "nothing is lost")
			}
		}
	})
}

// A broker may accept connections and never answer, on all of its hosts.
func TestABrokerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	s := newSender(t, webhook.SenderOptions{})
	hosts := listener.Addr().String() + strings.Repeat(","+listener.Addr().String(), 9)
	for _, to := range []delivery.Target{
		toRabbitMQ("amqp://"+hosts, nil), toNATS("nats://"+hosts, nil), toKafka("kafka://"+hosts, nil),
	} {
		j, m := order(1)
		began := time.Now()
		r := sendWithin(context.Background(), s, to, j, m, 500*time.Millisecond)
		require.Equal(t, delivery.Bad, r.Kind, "%s: %+v", to.Destination.Kind(), r)
		require.Equal(t, "timeout", r.Code, "%s: %+v", to.Destination.Kind(), r)
		require.Less(t, time.Since(began), 3*time.Second, to.Destination.Kind())
	}
}
