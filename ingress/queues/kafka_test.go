package queues_test

import (
	"context"
	"slices"
	"testing"

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

func publishKafka(t *testing.T, client *kgo.Client, bodies []string) {
	t.Helper()
	for _, body := range bodies {
		record := &kgo.Record{
			Topic: "orders", Key: []byte(body), Value: []byte(body), Headers: []kgo.RecordHeader{{Key: "Kind", Value: []byte("paid")}},
		}
		require.NoError(t, client.ProduceSync(t.Context(), record).FirstErr())
	}
}

// committed returns how many messages the group has acknowledged.
func committedOf(t *testing.T, client *kgo.Client) (n int64) {
	t.Helper()
	offsets, err := kadm.NewClient(client).FetchOffsets(t.Context(), "holdfast-orders")
	require.NoError(t, err)
	offsets.Each(func(o kadm.OffsetResponse) { n += max(o.At, 0) })
	return n
}

// Records of a topic, in a stand-in for Kafka: they are committed, and offsets only then. Readers share the group, and one that
// stops while commits fail leaves its records to the others.
func TestARecordOfKafkaIsAcknowledgedAfterItsCommit(t *testing.T) {
	t.Parallel()
	address := brokertest.Kafka(t, "orders")
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	c, q := &commits{failing: errDown}, queueOf("kafka", "kafka://"+address, "orders")
	publishKafka(t, client, numbered(0, 100))
	stop := c.read(t, q)
	require.Eventually(t, func() bool { attempts, _ := c.count(); return attempts > 20 }, patience, 10e6)
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
	require.Eventually(t, func() bool { return committedOf(t, client) == 200 }, patience, 50e6)
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
	code := func() string {
		if p := queues.Check(t.Context(), q, (&commits{}).secret).Problem; p != nil {
			return p.Code
		}
		return ""
	}
	require.Equal(t, queues.CodeUnreachable, code())
	q.URL = "kafka://" + address
	require.Empty(t, code())
	q.Name = "refunds"
	require.Equal(t, queues.CodeMissing, code())
}

// Records of an aborted transaction aren't events. Those of a committed one are.
func TestARecordOfAnAbortedTransactionIsNoEvent(t *testing.T) {
	t.Parallel()
	address := brokertest.Kafka(t, "orders")
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.TransactionalID("orders"))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	for body, end := range map[string]kgo.TransactionEndTry{"aborted": kgo.TryAbort, "committed": kgo.TryCommit} {
		require.NoError(t, client.BeginTransaction())
		publishKafka(t, client, []string{body})
		require.NoError(t, client.EndTransaction(t.Context(), end))
	}
	plain, err := kgo.NewClient(kgo.SeedBrokers(address))
	require.NoError(t, err)
	t.Cleanup(plain.Close)
	publishKafka(t, plain, numbered(0, 50))
	c := &commits{}
	c.read(t, queueOf("kafka", "kafka://"+address, "orders"))
	awaitAll(t, c, append([]string{"committed"}, numbered(0, 50)...))
	require.NotContains(t, c.distinct(), "aborted")
}

// A message that the ingress can't handle at all is passed on as a whole, and those behind it are read.
func TestAPanicDoesNotBlockAQueue(t *testing.T) {
	t.Parallel()
	address := brokertest.Kafka(t, "orders")
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	publishKafka(t, client, numbered(0, 50))
	c := &commits{poison: numbered(7, 8)[0]}
	c.read(t, queueOf("kafka", "kafka://"+address, "orders"))
	awaitAll(t, c, numbered(0, 50))
	require.Eventually(t, func() bool { return committedOf(t, client) == 50 }, patience, 50e6)
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
		require.Nil(t, queues.Check(t.Context(), q, c.secret).Problem)
		q.Secrets = "WRONG"
		problem := queues.Check(t.Context(), q, c.secret).Problem
		require.NotNil(t, problem)
		require.NotContains(t, problem.Text, "battery")
	}
}

// A message that can't be committed while others are is reported with a code of its own, its position and the next step. It is
// never acknowledged, and is committed once its cause is gone.
func TestAMessageThatCanNotBeCommittedIsReported(t *testing.T) {
	t.Parallel()
	address := brokertest.Kafka(t, "orders")
	client, err := kgo.NewClient(kgo.SeedBrokers(address))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	publishKafka(t, client, numbered(0, 8))
	c := &commits{refused: numbered(3, 4)[0]}
	c.read(t, queueOf("kafka", "kafka://"+address, "orders"))
	require.Eventually(t, func() bool { return slices.Contains(c.codes(), queues.CodeMessage) }, patience, 50e6)
	require.NotContains(t, c.distinct(), c.refused)
	require.Less(t, committedOf(t, client), int64(8))
	require.Regexp(t, `message orders:\d+:\d+: refused`, c.lastError())
	require.Contains(t, queues.Advice(queues.CodeMessage), "remove it at the broker")

	c.refuse("")
	awaitAll(t, c, numbered(0, 8))
	require.Eventually(t, func() bool { return committedOf(t, client) == 8 }, patience, 50e6)
}

// Metrics don't wait for the reader of a removed queue, which may need seconds to end.
func TestMetricsDoNotWaitForAReaderThatStops(t *testing.T) {
	t.Parallel()
	address := brokertest.Kafka(t, "slow")
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic("slow"))
	require.NoError(t, err)
	t.Cleanup(client.Close)
	require.NoError(t, client.ProduceSync(t.Context(), kgo.StringRecord("{}")).FirstErr())
	reading, release := make(chan struct{}), make(chan struct{})
	all := queues.New(queues.Options{Accept: func(context.Context, queues.Message) (string, error) {
		close(reading)
		<-release
		return "accepted", nil
	}})
	meters := metric.NewManualReader()
	otel.SetMeterProvider(metric.NewMeterProvider(metric.WithReader(meters)))
	require.NoError(t, all.Read([]receiving.Queue{queueOf("kafka", "kafka://"+address, "slow")}))
	<-reading
	require.True(t, isMeasured(t, meters, "slow"))

	stopped := make(chan error, 1)
	go func() { stopped <- all.Read(nil) }()
	require.Eventually(t, func() bool { return !isMeasured(t, meters, "slow") }, patience, 10e6)
	select {
	case err := <-stopped:
		close(release)
		t.Fatal("the metrics have waited for the reader", err)
	default:
	}
	close(release)
	require.NoError(t, <-stopped)
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
