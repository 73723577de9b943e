package queue_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"
	"cloud.google.com/go/pubsub/v2/pstest"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"holdfast/delivery"
	"holdfast/delivery/queue"
	"holdfast/delivery/webhook"
	"holdfast/internal/devstack/brokertest"
	"holdfast/internal/proxy"
)

const ordersTopic = "projects/test/topics/orders"

// startPubSub starts a stand-in, pstest of Google's client, with the topic orders.
func startPubSub(t *testing.T, options ...pstest.ServerReactorOption) *pstest.Server {
	t.Helper()
	s := pstest.NewServerWithAddress("127.0.0.1:0", options...)
	t.Cleanup(func() { _ = s.Close() })
	_, err := s.GServer.CreateTopic(t.Context(), &pubsubpb.Topic{Name: ordersTopic})
	require.NoError(t, err)
	return s
}

func toPubSub(address string, change func(*delivery.PubSub)) delivery.Target {
	to := &delivery.PubSub{
		Connection: delivery.Connection{URL: "http://" + address}, Topic: ordersTopic, OrderingKey: ".body.customer",
	}
	if change != nil {
		change(to)
	}
	return delivery.Target{Destination: delivery.Destination{ID: 5, Name: "cloud", PubSub: to}}
}

func TestATopicOfPubSubConfirmsADelivery(t *testing.T) {
	t.Parallel()
	service := startPubSub(t)
	s, to := newSender(t, webhook.SenderOptions{}), toPubSub(service.Addr, nil)
	found := check(t, s, to)
	require.True(t, found[0].OK && found[1].OK, found)
	require.Contains(t, found[2].Text, "no subscription")
	_, err := service.GServer.CreateSubscription(t.Context(), &pubsubpb.Subscription{Name: "projects/test/subscriptions/a", Topic: ordersTopic})
	require.NoError(t, err)
	require.Len(t, check(t, s, to), 2)

	to.Subscription.Body = delivery.BodyCloudEventsBinary
	j, m := order(1)
	m.Body, m.Receipt.Headers["content-type"] = []byte(`{"customer":"c1"}`), "application/json;x=\xff"
	r := send(t, s, to, j, m)
	require.Equal(t, delivery.OK, r.Kind, r)
	require.Equal(t, "stored", r.Code)
	got := service.Messages()[0]
	require.Equal(t, m.Body, got.Data)
	require.Equal(t, "c1", got.OrderingKey)
	require.Equal(t, j.ID(), got.Attributes["webhook-id"])
	require.Equal(t, m.Receipt.ID, got.Attributes["holdfast-event-id"])
	require.Equal(t, "order.paid", got.Attributes["ce-type"])
	require.Equal(t, "application/json;x=\uFFFD", got.Attributes["content-type"])
	require.Equal(t, got.Attributes["content-type"], got.Attributes["ce-datacontenttype"])
	for i, body := range []string{`{"customer":""}`, `{}`, ""} {
		j.Generation, m.Body = i+1, []byte(body)
		require.Equal(t, delivery.OK, send(t, s, to, j, m).Kind)
		require.Empty(t, service.Messages()[i+1].OrderingKey)
	}
	require.Equal(t, 1, s.Open(), "attempts share a connection")

	list, err := proxy.Parse("office=http://" + eagerProxy(t))
	require.NoError(t, err)
	s = newSender(t, webhook.SenderOptions{Routes: webhook.Routes{Proxies: list}})
	r = send(t, s, toPubSub(service.Addr, func(p *delivery.PubSub) { p.Proxy = "office" }), j, m)
	require.Equal(t, "stored", r.Code, r)
	require.Equal(t, "office", r.Proxy)
}

// What Pub/Sub would refuse isn't sent. The stand-in would take some of it.
func TestWhatPubSubDoesNotTake(t *testing.T) {
	t.Parallel()
	service := startPubSub(t)
	s := newSender(t, webhook.SenderOptions{})
	j, m := order(1)
	large := m
	large.Body = make([]byte, 10_000_000)
	long := m
	long.Receipt.Source = strings.Repeat("x", 1025)
	for name, c := range map[string]struct {
		change func(*delivery.PubSub)
		m      delivery.Message
		kind   delivery.Kind
		code   string
	}{
		"no topic":         {func(p *delivery.PubSub) { p.Topic = "projects/test/topics/gone" }, m, delivery.Blocked, "no_queue"},
		"too large":        {nil, large, delivery.Final, "too_large"},
		"a long attribute": {nil, long, delivery.Final, "invalid_name"},
		"a number":         {func(p *delivery.PubSub) { p.OrderingKey = ".body.number" }, m, delivery.Final, "invalid_name"},
		"a long key":       {func(p *delivery.PubSub) { p.OrderingKey = `"x" * 1025` }, m, delivery.Final, "invalid_name"},
		"no TLS":           {func(p *delivery.PubSub) { p.URL = "http://pubsub.example.com" }, m, delivery.Blocked, "address"},
		"no key":           {func(p *delivery.PubSub) { p.URL = "https://pubsub.example.com" }, m, delivery.Blocked, "credentials"},
	} {
		to := toPubSub(service.Addr, c.change)
		to.Subscription.Body = delivery.BodyCloudEventsBinary
		r := send(t, s, to, j, c.m)
		require.Equal(t, c.kind, r.Kind, "%s: %+v", name, r)
		require.Equal(t, c.code, r.Code, "%s: %+v", name, r)
	}
	require.Empty(t, service.Messages())
	r := send(t, queue.NewSender(webhook.NewNetwork(webhook.SenderOptions{})), toPubSub(service.Addr, nil), j, m)
	require.Equal(t, "private_address", r.Code, r)
}

func TestPubSubRefusesADelivery(t *testing.T) {
	t.Parallel()
	j, m := order(1)
	for code, want := range map[codes.Code]struct {
		kind delivery.Kind
		code string
	}{
		codes.PermissionDenied:  {delivery.Blocked, "credentials"},
		codes.Unauthenticated:   {delivery.Blocked, "credentials"},
		codes.ResourceExhausted: {delivery.Busy, "blocked"},
		codes.InvalidArgument:   {delivery.Final, "refused"},
		codes.Internal:          {delivery.Bad, "refused"},
		codes.Unavailable:       {delivery.Bad, "connection"},
		codes.DeadlineExceeded:  {delivery.Bad, "timeout"},
	} {
		service := startPubSub(t, pstest.WithErrorInjection("Publish", code, "hunter2"))
		r := send(t, newSender(t, webhook.SenderOptions{}), toPubSub(service.Addr, nil), j, m)
		require.Equal(t, want.kind, r.Kind, "%s: %+v", code, r)
		require.Equal(t, want.code, r.Code, "%s: %+v", code, r)
		require.NotContains(t, r.Error, "hunter2")
	}
	unread := startPubSub(t, pstest.WithErrorInjection("GetTopic", codes.PermissionDenied, ""))
	found := check(t, newSender(t, webhook.SenderOptions{}), toPubSub(unread.Addr, nil))
	require.Contains(t, found[1].Text, "not checked")
}

// A failure doesn't keep later messages with its ordering key from being sent, and an answer without an ID confirms nothing.
func TestAFailureWithAnOrderingKey(t *testing.T) {
	t.Parallel()
	service := startPubSub(t)
	s, to := newSender(t, webhook.SenderOptions{}), toPubSub(service.Addr, func(p *delivery.PubSub) { p.OrderingKey = `"c1"` })
	service.SetAutoPublishResponse(false)
	service.AddPublishResponse(nil, status.Error(codes.Internal, ""))
	service.AddPublishResponse(&pubsubpb.PublishResponse{}, nil)
	j, m := order(1)
	require.Equal(t, delivery.Bad, send(t, s, to, j, m).Kind)
	require.Equal(t, delivery.Bad, send(t, s, to, j, m).Kind)
	service.SetAutoPublishResponse(true)
	require.Equal(t, delivery.OK, send(t, s, to, j, m).Kind)
	require.Equal(t, "c1", service.Messages()[0].OrderingKey)
}

// A variable has the lines of a key, and those of the one before it.
func TestTheKeyOfAVariable(t *testing.T) {
	t.Parallel()
	to := toPubSub("a", nil)
	to.Secrets = []string{"{", `"type": "new"`, "}", "{", `"type": "old"`, "}"}
	require.JSONEq(t, `{"type":"new"}`, queue.SecretOf(to))
	to.Secrets = []string{"no JSON"}
	require.Equal(t, "no JSON", queue.SecretOf(to))
}

func TestPubSubIsKilledUnderLoad(t *testing.T) {
	t.Parallel()
	b := brokertest.PubSub(t, "orders")
	ids := deliverThroughCrashes(t, newSender(t, webhook.SenderOptions{}), toPubSub(b.Address, nil), 3000, func() {
		b.Kill(t)
		b.Start(t)
	})
	conn, err := grpc.NewClient(b.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	stored := map[string]bool{}
	for len(stored) < len(ids) {
		got, err := pubsubpb.NewSubscriberClient(conn).Pull(ctx, &pubsubpb.PullRequest{
			Subscription: "projects/test/subscriptions/orders", MaxMessages: 1000,
		})
		require.NoError(t, err, "%d of %d messages can be read", len(stored), len(ids))
		for _, one := range got.GetReceivedMessages() {
			stored[one.GetMessage().GetAttributes()["webhook-id"]] = true
		}
	}
	require.Equal(t, ids, stored, "nothing is lost, and duplicates carry the same ID")
}
