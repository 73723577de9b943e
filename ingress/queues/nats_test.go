package queues_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"holdfast/ingress/queues"
	"holdfast/internal/devstack/brokertest"
)

// connectNATS returns a client of a server with the stream ORDERS.
func connectNATS(t *testing.T, b *brokertest.Broker) jetstream.JetStream {
	t.Helper()
	conn, err := nats.Connect("nats://"+b.Address, nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		_, err = js.CreateOrUpdateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}})
		return err == nil
	}, patience, 50*time.Millisecond)
	return js
}

func publishNATS(t *testing.T, js jetstream.JetStream, bodies []string) {
	t.Helper()
	for _, body := range bodies {
		_, err := js.Publish(t.Context(), "orders.paid", []byte(body), jetstream.WithRetryAttempts(100))
		require.NoError(t, err)
	}
}

// Messages of a stream:
//   - are committed, and acknowledged only then: while commits fail, all stay unacknowledged, and only as many as the prefetch allows
//     are read
//   - have their headers in lower case, and what the server says about them
func TestAMessageOfNATSIsAcknowledgedAfterItsCommit(t *testing.T) {
	t.Parallel()
	b := brokertest.NATS(t, "", "")
	js, c := connectNATS(t, b), &commits{failing: errDown}
	q := queueOf("nats", "nats://"+b.Address, "ORDERS")
	publishNATS(t, js, numbered(0, 100))
	c.read(t, q)
	require.Eventually(t, func() bool { attempts, _ := c.count(); return attempts > 30 }, patience, 10*time.Millisecond)
	consumer, err := js.Consumer(t.Context(), "ORDERS", "holdfast-orders")
	require.NoError(t, err)
	info, err := consumer.Info(t.Context())
	require.NoError(t, err)
	require.Zero(t, info.AckFloor.Consumer, "a message was acknowledged without a commit")
	require.LessOrEqual(t, info.NumAckPending, 2*q.Prefetch+1)
	require.Contains(t, c.codes(), queues.CodeHeld)

	c.fail(nil)
	awaitAll(t, c, numbered(0, 100))
	require.Eventually(t, func() bool {
		info, err := consumer.Info(t.Context())
		return err == nil && info.NumAckPending == 0 && info.NumPending == 0
	}, patience, 20*time.Millisecond)

	_, err = js.PublishMsg(t.Context(), &nats.Msg{
		Subject: "orders.deleted", Data: []byte(`{"id":"last"}`), Header: nats.Header{"Nats-Msg-Id": {"m1"}, "X-Kind": {"a", "b"}},
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return len(c.distinct()) == 101 }, patience, 10*time.Millisecond)
	m := c.last()
	require.Equal(t, "ORDERS:101", m.Position)
	require.Equal(t, []string{"m1"}, m.Header["nats-msg-id"])
	require.Equal(t, []string{"a", "b"}, m.Header["x-kind"])
	require.Equal(t, []string{"orders.deleted"}, m.Header["nats-subject"])
	require.Equal(t, []string{"101"}, m.Header["nats-sequence"])
}

// While messages are published, the server is killed several times, and so are two readers that share the consumer: no message is
// lost.
func TestNoMessageOfNATSIsLostByKills(t *testing.T) {
	t.Parallel()
	b := brokertest.NATS(t, "", "")
	js, c := connectNATS(t, b), &commits{}
	q := queueOf("nats", "nats://"+b.Address, "ORDERS")
	stop := c.read(t, q)
	c.read(t, q)
	for n := range 3 {
		publishNATS(t, js, numbered(n*300, n*300+300))
		b.Kill(t)
		b.Start(t)
		if n == 1 {
			stop()
		}
	}
	awaitAll(t, c, numbered(0, 900))
	require.Contains(t, c.codes(), queues.CodeUnreachable)
}

// What keeps a stream from being read is reported with a code: a server that isn't there, a password, a stream, a consumer that would
// lose messages. A reader goes on automatically once it is mended.
func TestProblemsOfNATS(t *testing.T) {
	t.Parallel()
	b := brokertest.NATS(t, "shop", "right")
	c := &commits{secrets: map[string]string{"PASSWORD": "wrong"}}
	q := queueOf("nats", "nats://"+b.Address, "ORDERS")
	q.URL = "nats://127.0.0.1:1"
	require.Equal(t, queues.CodeUnreachable, c.problem(t, q))
	q.URL, q.User, q.Secrets = "nats://"+b.Address, "shop", "UNSET"
	require.Equal(t, queues.CodeSecret, c.problem(t, q))
	q.Secrets = "PASSWORD"
	require.Equal(t, queues.CodeRefused, c.problem(t, q))
	c.secrets["PASSWORD"] = "right"
	require.Equal(t, queues.CodeMissing, c.problem(t, q))

	c.read(t, q)
	require.Eventually(t, func() bool { return len(c.codes()) > 0 }, patience, 10*time.Millisecond)
	conn, err := nats.Connect("nats://"+b.Address, nats.UserInfo("shop", "right"))
	require.NoError(t, err)
	defer conn.Close()
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	stream, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}})
	require.NoError(t, err)
	publishNATS(t, js, numbered(0, 3))
	awaitAll(t, c, numbered(0, 3))
	require.Empty(t, c.problem(t, q))

	_, err = stream.CreateConsumer(t.Context(), jetstream.ConsumerConfig{
		Durable: "limited", AckPolicy: jetstream.AckExplicitPolicy, MaxDeliver: 5,
	})
	require.NoError(t, err)
	q.Group = "limited"
	require.Equal(t, queues.CodeSettings, c.problem(t, q))
}

// A message says how often it was delivered before, by any process.
func TestNATSCountsRedeliveries(t *testing.T) {
	t.Parallel()
	b := brokertest.NATS(t, "", "")
	js, c := connectNATS(t, b), &commits{}
	publishNATS(t, js, numbered(0, 1))
	consumer, err := js.CreateConsumer(t.Context(), "ORDERS", jetstream.ConsumerConfig{
		Durable: "holdfast-orders", AckPolicy: jetstream.AckExplicitPolicy,
	})
	require.NoError(t, err)
	for range 2 {
		m, err := consumer.Next(jetstream.FetchMaxWait(patience))
		require.NoError(t, err)
		require.NoError(t, m.Nak())
	}
	c.read(t, queueOf("nats", "nats://"+b.Address, "ORDERS"))
	awaitAll(t, c, numbered(0, 1))
	require.Equal(t, 2, c.last().Redeliveries)
}
