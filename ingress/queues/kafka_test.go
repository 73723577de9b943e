package queues_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"holdfast/ingress/queues"
	"holdfast/internal/devstack/brokertest"
	"holdfast/providers/receiving"
)

// connectKafka returns a client of a broker.
func connectKafka(t *testing.T, address string, options ...kgo.Opt) *kgo.Client {
	t.Helper()
	client, err := kgo.NewClient(append(options, kgo.SeedBrokers(address))...)
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// readKafka publishes messages in a new topic, and reads it.
func readKafka(t *testing.T, c *commits, bodies []string) *kgo.Client {
	t.Helper()
	address := brokertest.Kafka(t, "orders")
	client := connectKafka(t, address)
	publishKafka(t, client, bodies)
	c.read(t, queueOf("kafka", "kafka://"+address, "orders"))
	return client
}

func publishKafka(t *testing.T, client *kgo.Client, bodies []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, body := range bodies {
		record := &kgo.Record{
			Topic: "orders", Key: []byte(body), Value: []byte(body), Headers: []kgo.RecordHeader{{Key: "Kind", Value: []byte("paid")}},
		}
		require.NoError(t, client.ProduceSync(ctx, record).FirstErr())
	}
}

// committedOf returns how many messages the group has acknowledged.
func committedOf(t *testing.T, client *kgo.Client) (n int64) {
	t.Helper()
	offsets, err := kadm.NewClient(client).FetchOffsets(t.Context(), "holdfast-orders")
	require.NoError(t, err)
	offsets.Each(func(o kadm.OffsetResponse) { n += max(o.At, 0) })
	return n
}

func awaitCommitted(t *testing.T, client *kgo.Client, want int64) {
	t.Helper()
	require.Eventually(t, func() bool { return committedOf(t, client) == want }, patience, 50*time.Millisecond)
}

// Records of a topic, in a stand-in for Kafka: they are committed, and offsets only then. Readers share the group, and one that
// stops while commits fail leaves its records to the others.
func TestARecordOfKafkaIsAcknowledgedAfterItsCommit(t *testing.T) {
	t.Parallel()
	address := brokertest.Kafka(t, "orders")
	client := connectKafka(t, address)
	c, q := &commits{failing: errDown}, queueOf("kafka", "kafka://"+address, "orders")
	publishKafka(t, client, numbered(0, 100))
	stop := c.read(t, q)
	require.Eventually(t, func() bool { attempts, _ := c.count(); return attempts > 20 }, patience, 10*time.Millisecond)
	require.Zero(t, committedOf(t, client))
	require.Contains(t, c.codes(), queues.CodeHeld)
	stop()
	require.Zero(t, committedOf(t, client))

	c.fail(nil)
	stop = c.read(t, q)
	c.read(t, q)
	awaitAll(t, c, numbered(0, 100))
	publishKafka(t, client, numbered(100, 200))
	stop()
	awaitAll(t, c, numbered(0, 200))
	awaitCommitted(t, client, 200)
	m := c.last()
	require.Equal(t, []string{"paid"}, m.Header["kind"])
	require.Equal(t, []string{string(m.Body)}, m.Header["kafka-key"])
	require.Equal(t, "orders:"+m.Header["kafka-partition"][0]+":"+m.Header["kafka-offset"][0], m.Position)
	awaitWaiting(t, q, c, 0) // it is unknown while the group rebalances
}

// What keeps a topic from being read is reported with a code.
func TestProblemsOfKafka(t *testing.T) {
	t.Parallel()
	address := brokertest.Kafka(t, "orders")
	q := queueOf("kafka", "kafka://127.0.0.1:1", "orders")
	c := &commits{}
	require.Equal(t, queues.CodeUnreachable, c.problem(t, q))
	q.URL = "kafka://" + address
	require.Empty(t, c.problem(t, q))
	q.Name = "refunds"
	require.Equal(t, queues.CodeMissing, c.problem(t, q))
}

// Records of an aborted transaction aren't events. Those of a committed one are.
func TestARecordOfAnAbortedTransactionIsNoEvent(t *testing.T) {
	t.Parallel()
	address := brokertest.Kafka(t, "orders")
	client := connectKafka(t, address, kgo.TransactionalID("orders"))
	for body, end := range map[string]kgo.TransactionEndTry{"aborted": kgo.TryAbort, "committed": kgo.TryCommit} {
		require.NoError(t, client.BeginTransaction())
		publishKafka(t, client, []string{body})
		require.NoError(t, client.EndTransaction(t.Context(), end))
	}
	publishKafka(t, connectKafka(t, address), numbered(0, 50))
	c := &commits{}
	c.read(t, queueOf("kafka", "kafka://"+address, "orders"))
	awaitAll(t, c, append([]string{"committed"}, numbered(0, 50)...))
	require.NotContains(t, c.distinct(), "aborted")
}

// A message that the ingress can't handle at all is passed on as a whole, and those behind it are read.
func TestAPanicDoesNotBlockAQueue(t *testing.T) {
	t.Parallel()
	c := &commits{poison: numbered(7, 8)[0]}
	client := readKafka(t, c, numbered(0, 50))
	awaitAll(t, c, numbered(0, 50))
	awaitCommitted(t, client, 50)
}

// Kafka's users authenticate by SASL. A wrong password is a problem, and isn't shown. The stand-in ends the
// connection without the code of Kafka.
func TestAUserOfKafka(t *testing.T) {
	t.Parallel()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"), kfake.EnableSASL(),
		kfake.Superuser("SCRAM-SHA-512", "reader", "correct-horse"), kfake.Superuser("PLAIN", "plain", "correct-horse"))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	c := &commits{secrets: map[string]string{"RIGHT": "correct-horse", "WRONG": "battery-staple"}}
	q := queueOf("kafka", "kafka://"+cluster.ListenAddrs()[0], "orders")
	for _, of := range []struct{ user, mechanism string }{{"reader", ""}, {"plain", "PLAIN"}} {
		q.User, q.Mechanism, q.Secrets = of.user, of.mechanism, "RIGHT"
		require.Nil(t, queues.Check(t.Context(), q, c).Problem)
		q.Secrets = "WRONG"
		problem := queues.Check(t.Context(), q, c).Problem
		require.NotNil(t, problem)
		require.NotContains(t, problem.Text, "battery")
	}
}

// A message that can't be committed while others are is reported with its own code, its position and the next step. It is
// never acknowledged, and is committed once its cause is gone.
func TestAMessageThatCanNotBeCommittedIsReported(t *testing.T) {
	t.Parallel()
	c := &commits{refused: numbered(3, 4)[0]}
	client := readKafka(t, c, numbered(0, 8))
	require.Eventually(t, func() bool { return slices.Contains(c.codes(), queues.CodeMessage) }, patience, 50*time.Millisecond)
	require.NotContains(t, c.distinct(), c.refused)
	require.Less(t, committedOf(t, client), int64(8))
	require.Regexp(t, `message orders:\d+:\d+: refused`, c.lastError())
	require.Contains(t, queues.Advice(queues.CodeMessage), "remove it at the broker")

	c.refuse("")
	awaitAll(t, c, numbered(0, 8))
	awaitCommitted(t, client, 8)
}

// Metrics don't wait for the reader of a removed queue, which may need seconds to end.
func TestMetricsDoNotWaitForAReaderThatStops(t *testing.T) {
	t.Parallel()
	address := brokertest.Kafka(t, "slow")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	record := &kgo.Record{Topic: "slow", Value: []byte("{}")}
	require.NoError(t, connectKafka(t, address).ProduceSync(ctx, record).FirstErr())
	reading, release := make(chan struct{}), make(chan struct{})
	all := queues.New(queues.Options{Accept: func(context.Context, queues.Message) (string, error) {
		close(reading)
		<-release
		return "accepted", nil
	}})
	meters := metric.NewManualReader()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(meters)))
	require.NoError(t, all.Read([]receiving.Queue{queueOf("kafka", "kafka://"+address, "slow")}))
	await(t, reading)
	require.True(t, isMeasured(t, meters, "slow"))

	stopped := make(chan error, 1)
	go func() { stopped <- all.Read(nil) }()
	require.Eventually(t, func() bool { return !isMeasured(t, meters, "slow") }, patience, 10*time.Millisecond)
	select {
	case err := <-stopped:
		close(release)
		t.Fatal("the metrics have waited for the reader", err)
	default:
	}
	close(release)
	require.NoError(t, await(t, stopped))
}

// isMeasured reports whether metrics have a queue.
func isMeasured(t *testing.T, meters *metric.ManualReader, queue string) bool {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, meters.Collect(t.Context(), &all))
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			if m.Name != "holdfast_source_queue_up" {
				continue
			}
			for _, p := range m.Data.(metricdata.Gauge[int64]).DataPoints {
				if name, _ := p.Attributes.Value("queue"); name.AsString() == queue {
					return true
				}
			}
		}
	}
	return false
}
