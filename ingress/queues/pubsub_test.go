package queues_test

import (
	"context"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"holdfast/ingress/queues"
	"holdfast/internal/devstack/brokertest"
)

const (
	ordersTopic        = "projects/test/topics/orders"
	ordersSubscription = "projects/test/subscriptions/orders"
)

// startPubSub starts a stand-in for Google Pub/Sub, pstest of its client, with a topic and a subscription.
func startPubSub(t *testing.T, options ...pstest.ServerReactorOption) *pstest.Server {
	t.Helper()
	s := pstest.NewServerWithAddress("127.0.0.1:0", options...)
	t.Cleanup(func() { _ = s.Close() })
	_, err := s.GServer.CreateTopic(t.Context(), &pubsubpb.Topic{Name: ordersTopic})
	require.NoError(t, err)
	_, err = s.GServer.CreateSubscription(t.Context(), &pubsubpb.Subscription{Name: ordersSubscription, Topic: ordersTopic})
	require.NoError(t, err)
	return s
}

// acknowledged counts the messages that were acknowledged, and the new leases of all.
func acknowledged(s *pstest.Server) (acks, leases int) {
	for _, m := range s.Messages() {
		acks += min(m.Acks, 1)
		leases += len(m.Modacks)
	}
	return acks, leases
}

// Messages of a subscription, in a stand-in for Pub/Sub: they are committed, and acknowledged only then. While commits fail, their
// leases are renewed. A message without an acknowledgement is read again after its lease.
func TestAMessageOfPubSubIsAcknowledgedAfterItsCommit(t *testing.T) {
	t.Parallel()
	s := startPubSub(t)
	c, q := &commits{failing: errDown}, queueOf("pubsub", "http://"+s.Addr, ordersSubscription)
	for _, body := range numbered(0, 100) {
		s.PublishOrdered(ordersTopic, []byte(body), map[string]string{"Kind": "paid"}, "c1")
	}
	stop := c.read(t, q)
	require.Eventually(t, func() bool { _, leases := acknowledged(s); return leases > 20 }, patience, 10*time.Millisecond)
	acks, _ := acknowledged(s)
	require.Zero(t, acks)
	require.Contains(t, c.codes(), queues.CodeHeld)
	for _, m := range s.Messages() {
		for _, lease := range m.Modacks {
			require.EqualValues(t, 60, lease.AckDeadline)
		}
	}
	stop()

	c.fail(nil)
	s.SetTimeNowFunc(func() time.Time { return time.Now().Add(2 * time.Minute) }) // the leases have ended
	stop = c.read(t, q)
	c.read(t, q)
	awaitAll(t, c, numbered(0, 100))
	for _, body := range numbered(100, 200) {
		s.Publish(ordersTopic, []byte(body), nil)
	}
	stop()
	awaitAll(t, c, numbered(0, 200))
	require.Eventually(t, func() bool { acks, _ := acknowledged(s); return acks == 200 }, patience, 10*time.Millisecond)
	require.Equal(t, []string{"paid"}, c.messages[0].Header["kind"])
	require.Equal(t, []string{"c1"}, c.messages[0].Header["pubsub-ordering-key"])
	m := c.last()
	require.Equal(t, ordersSubscription+":"+m.Header["pubsub-message-id"][0], m.Position)
	require.NotContains(t, m.Header, "pubsub-ordering-key")
}

// The service ends each stream after a while: it is opened again, and no problem is reported.
func TestAStreamOfPubSubEnds(t *testing.T) {
	t.Parallel()
	s := startPubSub(t)
	s.SetStreamTimeout(1500 * time.Millisecond)
	c := &commits{}
	c.read(t, queueOf("pubsub", "http://"+s.Addr, ordersSubscription))
	for n := range 4 {
		s.Publish(ordersTopic, []byte(numbered(n, n+1)[0]), nil)
		awaitAll(t, c, numbered(0, n+1))
		<-time.After(time.Second) // the streams must end
	}
	require.Empty(t, c.codes())
}

// The stand-in is killed three times, and a reader is stopped: all messages are committed.
func TestNoMessageOfPubSubIsLostByKills(t *testing.T) {
	t.Parallel()
	b, c := brokertest.PubSub(t, "orders"), &commits{}
	conn, err := grpc.NewClient(b.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	q := queueOf("pubsub", "http://"+b.Address, ordersSubscription)
	stop := c.read(t, q)
	c.read(t, q)
	for n := range 3 {
		for _, body := range numbered(n*100, n*100+100) {
			publishPubSub(t, conn, body)
		}
		b.Kill(t)
		b.Start(t)
		if n == 1 {
			stop()
		}
	}
	awaitAll(t, c, numbered(0, 300))
	require.Contains(t, c.codes(), queues.CodeUnreachable)
}

// publishPubSub sends a message until the service has confirmed it.
func publishPubSub(t *testing.T, conn *grpc.ClientConn, body string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := pubsubpb.NewPublisherClient(conn).Publish(ctx, &pubsubpb.PublishRequest{
		Topic: ordersTopic, Messages: []*pubsubpb.PubsubMessage{{Data: []byte(body)}},
	}, grpc.WaitForReady(true))
	require.NoError(t, err)
}

// What keeps a subscription from being read is reported with a code.
func TestProblemsOfPubSub(t *testing.T) {
	t.Parallel()
	c := &commits{secrets: map[string]string{"KEY": "hunter2"}}
	q := queueOf("pubsub", "http://127.0.0.1:1", ordersSubscription)
	require.Equal(t, queues.CodeUnreachable, c.problem(t, q))
	q.URL = "http://pubsub.example.com"
	require.Equal(t, queues.CodeSettings, c.problem(t, q))
	q.URL, q.Secrets = "https://pubsub.example.com", "KEY"
	require.Equal(t, queues.CodeSecret, c.problem(t, q))

	s := startPubSub(t)
	q.URL, q.Secrets = "http://"+s.Addr, ""
	require.Empty(t, c.problem(t, q))
	q.Name = "projects/test/subscriptions/refunds"
	require.Equal(t, queues.CodeMissing, c.problem(t, q))
	_, err := s.GServer.CreateSubscription(t.Context(), &pubsubpb.Subscription{
		Name: q.Name, Topic: ordersTopic, PushConfig: &pubsubpb.PushConfig{PushEndpoint: "https://example.com"},
	})
	require.NoError(t, err)
	require.Equal(t, queues.CodeSettings, c.problem(t, q))

	q.Name = ordersSubscription
	for code, want := range map[codes.Code]string{
		codes.PermissionDenied: "", codes.Unauthenticated: queues.CodeRefused, codes.Internal: queues.CodeUnreachable,
	} {
		s = startPubSub(t, pstest.WithErrorInjection("GetSubscription", code, "no"))
		q.URL = "http://" + s.Addr
		require.Equal(t, want, c.problem(t, q), code)
	}
}

// With a dead letter policy, a message says how often it was delivered before, by any process. Without one, nothing is counted.
func TestPubSubCountsRedeliveries(t *testing.T) {
	t.Parallel()
	s := startPubSub(t)
	const counted = "projects/test/subscriptions/counted"
	_, err := s.GServer.CreateTopic(t.Context(), &pubsubpb.Topic{Name: "projects/test/topics/dead"})
	require.NoError(t, err)
	_, err = s.GServer.CreateSubscription(t.Context(), &pubsubpb.Subscription{
		Name: counted, Topic: ordersTopic,
		DeadLetterPolicy: &pubsubpb.DeadLetterPolicy{DeadLetterTopic: "projects/test/topics/dead", MaxDeliveryAttempts: 100},
	})
	require.NoError(t, err)
	s.Publish(ordersTopic, []byte(numbered(0, 1)[0]), nil)
	for name, want := range map[string]int{counted: 2, ordersSubscription: 0} {
		for range 2 {
			pulled, err := s.GServer.Pull(t.Context(), &pubsubpb.PullRequest{Subscription: name, MaxMessages: 1})
			require.NoError(t, err)
			require.Len(t, pulled.GetReceivedMessages(), 1)
			_, err = s.GServer.ModifyAckDeadline(t.Context(), &pubsubpb.ModifyAckDeadlineRequest{
				Subscription: name, AckIds: []string{pulled.GetReceivedMessages()[0].GetAckId()},
			})
			require.NoError(t, err)
		}
		c := &commits{}
		c.read(t, queueOf("pubsub", "http://"+s.Addr, name))
		awaitAll(t, c, numbered(0, 1))
		require.Equal(t, want, c.last().Redeliveries, name)
	}
}
