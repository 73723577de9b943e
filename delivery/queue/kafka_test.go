package queue_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"holdfast/delivery"
	"holdfast/delivery/webhook"
)

// startKafka starts a stand-in, kfake of franz-go: no real Kafka can be installed here.
func startKafka(t *testing.T, options ...kfake.Opt) (url string) {
	t.Helper()
	url, _ = startKafkaToStop(t, options...)
	return url
}

func startKafkaToStop(t *testing.T, options ...kfake.Opt) (url string, stop func()) {
	t.Helper()
	url, cluster := startCluster(t, options...)
	return url, cluster.Close
}

func startCluster(t *testing.T, options ...kfake.Opt) (url string, cluster *kfake.Cluster) {
	t.Helper()
	cluster, err := kfake.NewCluster(append(options, kfake.NumBrokers(1), kfake.SeedTopics(4, "events"))...)
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	return "kafka://" + strings.Join(cluster.ListenAddrs(), ","), cluster
}

// An attempt that has ended leaves no record behind: with a broker that is down for long, copies would fill the memory, and all
// be stored once it is back.
func TestARecordIsForgottenWithItsAttempt(t *testing.T) {
	t.Parallel()
	url, cluster := startCluster(t)
	s, to := newSender(t, webhook.SenderOptions{}), toKafka(url, nil)
	var works atomic.Bool
	cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		cluster.KeepControl()
		return nil, errors.New("lost"), !works.Load()
	})
	j, m := order(1)
	for range 3 {
		require.Equal(t, delivery.Bad, sendWithin(t.Context(), s, to, j, m, 500*time.Millisecond).Kind)
	}
	require.Eventually(t, func() bool { return s.Unconfirmed() == 0 }, 15*time.Second, 10*time.Millisecond)
	works.Store(true)
	require.Equal(t, delivery.OK, send(t, s, to, j, m).Kind)
	j.Generation++
	require.Equal(t, delivery.OK, send(t, s, to, j, m).Kind)
	readKafka(t, url, 2)
}

// The client connects again automatically, and only logs why it can't.
func TestKafkaGoesDown(t *testing.T) {
	t.Parallel()
	url, stop := startKafkaToStop(t)
	s, to := newSender(t, webhook.SenderOptions{}), toKafka(url, nil)
	j, m := order(1)
	require.Equal(t, delivery.OK, send(t, s, to, j, m).Kind)
	stop()
	r := sendWithin(t.Context(), s, to, j, m, 2*time.Second)
	require.Equal(t, delivery.Bad, r.Kind, r)
	require.Equal(t, "connection", r.Code, r)
	require.Contains(t, r.Error, "refused")
}

func toKafka(url string, change func(*delivery.Kafka)) delivery.Target {
	to := &delivery.Kafka{Connection: delivery.Connection{URL: url}, Topic: "events", PartitionKey: ".body.customer"}
	if change != nil {
		change(to)
	}
	return delivery.Target{Destination: delivery.Destination{ID: 3, Name: "log", Kafka: to}}
}

func readKafka(t *testing.T, url string, n int) (records []*kgo.Record) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.TrimPrefix(url, "kafka://")), kgo.ConsumeTopics("events"))
	require.NoError(t, err)
	defer client.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for len(records) < n {
		fetched := client.PollFetches(ctx)
		require.NoError(t, fetched.Err(), "%d of %d records can be read", len(records), n)
		records = append(records, fetched.Records()...)
	}
	return records
}

func TestATopicConfirmsADelivery(t *testing.T) {
	t.Parallel()
	url := startKafka(t)
	s, to := newSender(t, webhook.SenderOptions{}), toKafka(url, nil)
	to.Subscription.Body = delivery.BodyCloudEventsBinary
	j, m := order(1)
	m.Body = []byte(`{"customer":"c1"}`)
	r := send(t, s, to, j, m)
	require.Equal(t, delivery.OK, r.Kind, r)
	j.Generation++
	m.Body = []byte(`{"customer":""}`)
	require.Equal(t, delivery.OK, send(t, s, to, j, m).Kind)
	j.Generation++
	m.Body = nil
	require.Equal(t, delivery.OK, send(t, s, to, j, m).Kind)
	for _, got := range readKafka(t, url, 3) {
		headers := map[string]string{}
		for _, h := range got.Headers {
			headers[h.Key] = string(h.Value)
		}
		require.Equal(t, m.Receipt.ID, headers["holdfast-event-id"])
		require.Equal(t, "order.paid", headers["ce_type"])
		require.Equal(t, "application/json", headers["content-type"])
		require.NotNil(t, got.Value, "a nil value is a tombstone")
		switch {
		case strings.HasSuffix(headers["webhook-id"], "-1"), strings.HasSuffix(headers["webhook-id"], "-2"):
			require.Nil(t, got.Key, "an empty key is none")
		default:
			require.Equal(t, "c1", string(got.Key))
		}
	}
	found := check(t, s, to)
	require.True(t, found[0].OK && found[1].OK, found)
	require.Contains(t, found[1].Text, "4 partitions")
}

func TestATopicRefusesADelivery(t *testing.T) {
	t.Parallel()
	url := startKafka(t)
	s := newSender(t, webhook.SenderOptions{})
	j, m := order(1)
	large := m
	large.Body = make([]byte, 2<<20)
	for name, c := range map[string]struct {
		change func(*delivery.Kafka)
		m      delivery.Message
		kind   delivery.Kind
		code   string
	}{
		"no topic":  {func(k *delivery.Kafka) { k.Topic = "gone" }, m, delivery.Blocked, "no_queue"},
		"too large": {nil, large, delivery.Final, "too_large"},
		"a number":  {func(k *delivery.Kafka) { k.PartitionKey = ".body.number" }, m, delivery.Final, "invalid_name"},
	} {
		r := send(t, s, toKafka(url, c.change), j, c.m)
		require.Equal(t, c.kind, r.Kind, "%s: %+v", name, r)
		require.Equal(t, c.code, r.Code, "%s: %+v", name, r)
	}
	require.Contains(t, check(t, s, toKafka(url, func(k *delivery.Kafka) { k.Topic = "gone" }))[0].Text, "no_queue")
}

func TestKafkaAuthenticates(t *testing.T) {
	t.Parallel()
	url := startKafka(t, kfake.EnableSASL(), kfake.Superuser("SCRAM-SHA-512", "me", "sesame"))
	s, to := newSender(t, webhook.SenderOptions{}), toKafka(url, func(k *delivery.Kafka) { k.User = "me" })
	to.Secrets = []string{"wrong"}
	j, m := order(1)
	r := send(t, s, to, j, m)
	require.Equal(t, delivery.Bad, r.Kind, r) // the stand-in closes the connection; Kafka says why
	require.Contains(t, r.Error, "kafka.user")
	require.NotContains(t, r.Error, "wrong")
	to.Secrets = []string{"sesame"}
	require.Equal(t, delivery.OK, send(t, s, to, j, m).Kind)
}

// A broker that announces a large response isn't believed: nothing is allocated, and the attempt fails at once.
func TestAHugeAnswerOfKafka(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	ended := make(chan error, 1000)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
				_, _ = conn.Read(make([]byte, 1024))
				_, _ = conn.Write(binary.BigEndian.AppendUint32(nil, 50<<20))
				_, err := conn.Read(make([]byte, 1))
				ended <- err
			}()
		}
	}()
	s, to := newSender(t, webhook.SenderOptions{}), toKafka("kafka://"+listener.Addr().String(), nil)
	j, m := order(1)
	require.NotEqual(t, delivery.OK, sendWithin(t.Context(), s, to, j, m, 8*time.Second).Kind)
	select {
	case err := <-ended:
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the client waits for the response")
	case <-time.After(10 * time.Second):
		require.Fail(t, "the client has sent nothing")
	}
}
