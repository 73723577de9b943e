package queues_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/rabbitmq/amqp091-go"
	"github.com/stretchr/testify/require"

	"holdfast/ingress/queues"
	"holdfast/internal/devstack/brokertest"
)

func dialRabbit(t *testing.T, b *brokertest.Broker) *amqp091.Channel {
	t.Helper()
	var channel *amqp091.Channel
	require.Eventually(t, func() bool {
		conn, err := amqp091.Dial("amqp://guest:guest@" + b.Address)
		if err != nil {
			return false
		}
		t.Cleanup(func() { _ = conn.Close() })
		channel, err = conn.Channel()
		return err == nil
	}, patience, 100*time.Millisecond)
	require.NoError(t, channel.Confirm(false))
	return channel
}

func declare(t *testing.T, channel *amqp091.Channel, name, kind string) {
	t.Helper()
	_, err := channel.QueueDeclare(name, true, false, false, false, amqp091.Table{"x-queue-type": kind})
	require.NoError(t, err)
}

func publishRabbit(t *testing.T, channel *amqp091.Channel, queue string, bodies []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, body := range bodies {
		confirmed, err := channel.PublishWithDeferredConfirmWithContext(ctx, "", queue, true, false, amqp091.Publishing{
			DeliveryMode: amqp091.Persistent, ContentType: "application/json", Body: []byte(body), MessageId: "m-" + body,
			Headers: amqp091.Table{"X-Tenant": "t1", "n": int32(7), "list": []any{"a"}},
		})
		require.NoError(t, err)
		isStored, err := confirmed.WaitContext(ctx)
		require.NoError(t, err)
		require.True(t, isStored, "the broker has refused the message")
	}
}

// Messages of a queue are committed, and acknowledged only then. While commits fail, only the prefetch is read. Scalar headers
// and the properties are the message's headers.
func TestAMessageOfRabbitMQIsAcknowledgedAfterItsCommit(t *testing.T) {
	t.Parallel()
	b := brokertest.RabbitMQ(t)
	channel, c := dialRabbit(t, b), &commits{failing: errDown}
	declare(t, channel, "orders", "classic")
	publishRabbit(t, channel, "orders", numbered(0, 100))
	q := queueOf("rabbitmq", "amqp://"+b.Address, "orders")
	stop := c.read(t, q)
	awaitWaiting(t, q, c, int64(100-q.Prefetch))
	require.Contains(t, c.codes(), queues.CodeHeld)
	stop()
	awaitWaiting(t, q, c, 100)

	c.fail(nil)
	stop = c.read(t, q)
	awaitAll(t, c, numbered(0, 100))
	m := c.last()
	require.Equal(t, []string{"application/json"}, m.Header["content-type"])
	require.Equal(t, []string{"m-" + string(m.Body)}, m.Header["amqp-message-id"])
	require.Equal(t, []string{"t1"}, m.Header["x-tenant"])
	require.Equal(t, []string{"7"}, m.Header["n"])
	require.NotContains(t, m.Header, "list")
	stop()
	awaitWaiting(t, q, c, 0)
}

// While messages are published, the broker is killed twice, and one of two readers stops: no message is lost. The queue is a
// classic one: after kill -9, a quorum queue on a single RabbitMQ 3.10.8 sometimes stays without a leader.
func TestNoMessageOfRabbitMQIsLostByKills(t *testing.T) {
	t.Parallel()
	b := brokertest.RabbitMQ(t)
	channel, c := dialRabbit(t, b), &commits{}
	declare(t, channel, "orders", "classic")
	q := queueOf("rabbitmq", "amqp://"+b.Address, "orders")
	stop := c.read(t, q)
	c.read(t, q)
	for n := range 2 {
		publishRabbit(t, channel, "orders", numbered(n*200, n*200+200))
		b.Kill(t)
		b.Start(t)
		stop()
		channel = dialRabbit(t, b)
	}
	awaitAll(t, c, numbered(0, 400))
	require.Contains(t, c.codes(), queues.CodeUnreachable)
}

// What keeps a queue from being read is reported with a code: no server, a password, a virtual host, no queue, a deleted queue.
func TestProblemsOfRabbitMQ(t *testing.T) {
	t.Parallel()
	b := brokertest.RabbitMQ(t)
	c := &commits{secrets: map[string]string{"PASSWORD": "wrong"}}
	q := queueOf("rabbitmq", "amqp://127.0.0.1:1", "orders")
	require.Equal(t, queues.CodeUnreachable, c.problem(t, q))
	q.URL, q.User, q.Secrets = "amqp://"+b.Address, "guest", "PASSWORD"
	require.Equal(t, queues.CodeRefused, c.problem(t, q))
	c.secrets["PASSWORD"] = "guest"
	q.URL += "/other"
	require.Equal(t, queues.CodeRefused, c.problem(t, q))
	q.URL = "amqp://" + b.Address
	require.Equal(t, queues.CodeMissing, c.problem(t, q))
	channel := dialRabbit(t, b)
	declare(t, channel, "orders", "classic")
	require.Empty(t, c.problem(t, q))

	c.read(t, q)
	publishRabbit(t, channel, "orders", numbered(0, 1))
	awaitAll(t, c, numbered(0, 1))
	_, err := channel.QueueDelete("orders", false, false, false)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(c.codes()) > 0 }, patience, 20*time.Millisecond)
	require.Equal(t, queues.CodeMissing, c.codes()[0], fmt.Sprint(c.codes()))
}

// A message of a quorum queue says how often it was delivered before, by any process. Classic queues don't count.
func TestRabbitMQCountsRedeliveries(t *testing.T) {
	t.Parallel()
	b := brokertest.RabbitMQ(t)
	channel := dialRabbit(t, b)
	for kind, want := range map[string]int{"quorum": 2, "classic": 0} {
		declare(t, channel, kind, kind)
		publishRabbit(t, channel, kind, numbered(0, 1))
		for range 2 {
			var d amqp091.Delivery
			require.Eventually(t, func() bool {
				var ok bool
				var err error
				d, ok, err = channel.Get(kind, false)
				return err == nil && ok
			}, patience, 10*time.Millisecond)
			require.NoError(t, d.Nack(false, true))
		}
		c := &commits{}
		c.read(t, queueOf("rabbitmq", "amqp://"+b.Address, kind))
		awaitAll(t, c, numbered(0, 1))
		require.Equal(t, want, c.last().Redeliveries, kind)
	}
}
