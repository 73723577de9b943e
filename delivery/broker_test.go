package delivery_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/event"
)

func stock(change ...func(*delivery.NATS)) delivery.Destination {
	to := &delivery.NATS{Connection: delivery.Connection{URL: "nats://a:4222,b"}, Stream: "STOCK", Subject: `"stock"`}
	for _, f := range change {
		f(to)
	}
	return delivery.Destination{Name: "stock", NATS: to}
}

func TestInvalidQueues(t *testing.T) {
	t.Parallel()
	require.NoError(t, stock().Check())
	shop := delivery.RabbitMQ{Connection: delivery.Connection{URL: "amqps://mq/shop"}, RoutingKey: `.event.type`}
	require.NoError(t, delivery.Destination{Name: "shop", RabbitMQ: &shop}.Check())
	log := delivery.Kafka{Connection: delivery.Connection{URL: "kafkas://k"}, Topic: "events"}
	require.NoError(t, delivery.Destination{Name: "log", Kafka: &log}.Check())
	topic := func(change func(*delivery.PubSub)) delivery.Destination {
		to := &delivery.PubSub{
			Connection: delivery.Connection{URL: "https://pubsub.googleapis.com"}, Topic: "projects/shop/topics/orders", OrderingKey: ".event.key",
		}
		change(to)
		return delivery.Destination{Name: "orders", PubSub: to}
	}
	require.NoError(t, topic(func(*delivery.PubSub) {}).Check())
	bucket := func(change func(*delivery.S3)) delivery.Destination {
		to := &delivery.S3{Connection: delivery.Connection{URL: "https://s3.example", User: "me"}, Bucket: "webhooks"}
		change(to)
		return delivery.Destination{Name: "lake", S3: to}
	}
	require.NoError(t, bucket(func(*delivery.S3) {}).Check())
	queue := func(change func(*delivery.SQS)) delivery.Destination {
		to := &delivery.SQS{Connection: delivery.Connection{URL: "https://sqs.example/1", User: "me"}, Queue: "orders.fifo"}
		change(to)
		return delivery.Destination{Name: "shop", SQS: to}
	}
	require.NoError(t, queue(func(*delivery.SQS) {}).Check())
	both := stock()
	both.Kafka = &log
	wrong := log
	wrong.Mechanism = "GSSAPI"
	for want, d := range map[string]delivery.Destination{
		"nats and kafka are both set":               both,
		"nats.url must begin with nats:// or tls":   stock(func(n *delivery.NATS) { n.URL = "https://a" }),
		"nats.url must have no user":                stock(func(n *delivery.NATS) { n.URL = "nats://me:hunter2@a" }),
		"nats.url must have hosts":                  stock(func(n *delivery.NATS) { n.URL = "nats://" }),
		"nats.url is missing":                       stock(func(n *delivery.NATS) { n.URL = "" }),
		"nats.stream is missing":                    stock(func(n *delivery.NATS) { n.Stream = "" }),
		"nats.stream must be the name":              stock(func(n *delivery.NATS) { n.Stream = "a.b" }),
		"nats.subject is missing":                   stock(func(n *delivery.NATS) { n.Subject = "" }),
		"nats.subject":                              stock(func(n *delivery.NATS) { n.Subject = "stock.in" }),
		"nats.certificate and nats.key must be set": stock(func(n *delivery.NATS) { n.Key = "hunter.pem" }),
		"nats.proxy must be":                        stock(func(n *delivery.NATS) { n.Proxy = "a b" }),
		"nats.user must be one line":                stock(func(n *delivery.NATS) { n.User = "a\nb" }),
		"pubsub.topic is missing":                   topic(func(p *delivery.PubSub) { p.Topic = "" }),
		"pubsub.topic must be projects/":            topic(func(p *delivery.PubSub) { p.Topic = "orders" }),
		"pubsub.user isn't used":                    topic(func(p *delivery.PubSub) { p.User = "me" }),
		"pubsub.url must have one host":             topic(func(p *delivery.PubSub) { p.URL = "https://a,b" }),
		"s3.url must have one host":                 bucket(func(s *delivery.S3) { s.URL = "https://a,b" }),
		"s3.bucket must be one line":                bucket(func(s *delivery.S3) { s.Bucket = strings.Repeat("b", 256) }),
		"s3.region must be one line":                bucket(func(s *delivery.S3) { s.Region = "a\nb" }),
		"sqs.url must be the queue's URL without":   queue(func(s *delivery.SQS) { s.URL = "https://sqs.example/1/orders" }),
		"sqs.user is missing":                       queue(func(s *delivery.SQS) { s.User = "" }),
		"sqs.queue is missing":                      queue(func(s *delivery.SQS) { s.Queue = "" }),
		"sqs.queue must be 1 to 80":                 queue(func(s *delivery.SQS) { s.Queue = "orders.fi" }),
		"kafka.mechanism":                           {Name: "log", Kafka: &wrong},
		"rabbitmq.routing_key is missing":           {Name: "shop", RabbitMQ: &delivery.RabbitMQ{Connection: shop.Connection}},
	} {
		err := d.Check()
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "hunter")
	}
	require.ErrorContains(t, delivery.Subscription{Name: "s", To: "stock", Start: &delivery.Start{}}.CheckFor(stock()), "is a queue (nats)")
	err := delivery.Subscription{Name: "s", To: "shop", Body: "cloudevents-binary"}.CheckFor(queue(func(*delivery.SQS) {}))
	require.ErrorContains(t, err, "use cloudevents")
	for _, body := range []string{"cloudevents", "cloudevents-binary", "raw", "envelope", ".body"} {
		require.NoError(t, delivery.Subscription{Name: "s", To: "stock", Body: body}.CheckFor(stock()), body)
	}
}

// Neither settings nor what operators see has the key of a queue's certificate, or what was pasted in place of a variable.
func TestTheSecretsOfAQueueAreHidden(t *testing.T) {
	t.Parallel()
	d := stock(func(n *delivery.NATS) {
		n.Certificate, n.Key, n.Secrets = certificate, "-----BEGIN hunter", "hunter2"
	})
	settings, err := d.Settings()
	require.NoError(t, err)
	shown, err := json.Marshal(d.Shown())
	require.NoError(t, err)
	for _, text := range []string{string(settings), string(shown)} {
		require.Contains(t, text, `"key":"[redacted]"`)
		require.NotContains(t, text, "BEGIN hunter")
	}
	require.NotContains(t, string(shown), "hunter")
	require.Equal(t, "-----BEGIN hunter", d.NATS.Key, "the destination itself is unchanged")
	shop := delivery.Destination{RabbitMQ: &delivery.RabbitMQ{Connection: delivery.Connection{URL: "amqp://a,b/shop"}}}
	require.Equal(t, "amqp://a,b", shop.Redacted().RabbitMQ.URL)
}

// An integrator may neither send a stored password elsewhere, nor name a variable.
func TestAQueueIsChangedByAnIntegrator(t *testing.T) {
	t.Parallel()
	before := stock()
	moved := stock(func(n *delivery.NATS) { n.URL = "nats://evil.example.com" })
	require.NoError(t, delivery.CheckChange(&before, before, false))
	require.ErrorContains(t, delivery.CheckChange(&before, moved, false), "secret: give one")
	require.NoError(t, delivery.CheckChange(&before, moved, true))
	named := stock(func(n *delivery.NATS) { n.Secrets = "NATS_PASSWORD" })
	require.Equal(t, event.CodeNeedsAdmin, event.CodeOf(delivery.CheckChange(&before, named, false)))
	movedAway := moved
	movedAway.NATS.Secrets = "NATS_PASSWORD"
	require.Equal(t, event.CodeNeedsAdmin, event.CodeOf(delivery.CheckChange(&named, movedAway, true)))
	crm := delivery.Destination{HTTP: &delivery.HTTP{URL: "nats://a:4222,b"}}
	require.ErrorContains(t, delivery.CheckChange(&crm, before, false), "secret: give one", "a signing secret isn't a password")
}

func TestCloudEvents(t *testing.T) {
	t.Parallel()
	e := delivery.NewExpressions()
	m := delivery.Message{
		Receipt: event.Receipt{ID: "e1", Provider: "events", Source: "shop eu", Headers: map[string]string{"content-type": "text/plain"}},
		Type:    "order.paid", OccurredAt: time.Unix(1, 0), Body: []byte("<hi>"), PossibleDuplicateOf: "e0",
	}
	body := func(form string) delivery.Body {
		b, err := e.Body(t.Context(), delivery.Subscription{Body: form}, m)
		require.NoError(t, err)
		return b
	}
	require.JSONEq(t, `{"specversion":"1.0","id":"e1","source":"/events/shop%20eu","type":"order.paid","time":"1970-01-01T00:00:01Z",
		"possibleduplicateof":"e0","datacontenttype":"text/plain","data":"<hi>"}`, string(body("cloudevents").Bytes))
	m.Receipt.Headers["content-type"], m.Body = "application/json", []byte(`{"n": 1.50}`)
	require.Contains(t, string(body("cloudevents").Bytes), `"data":{"n":1.50}`)
	m.Body = []byte{0xff}
	require.Contains(t, string(body("cloudevents").Bytes), `"data_base64":"/w=="`)
	binary := body("cloudevents-binary")
	require.Equal(t, m.Body, binary.Bytes)
	require.Equal(t, "application/json", binary.ContentType)
	require.Contains(t, binary.Attributes, delivery.Attribute{Name: "source", Value: "/events/shop%20eu"})
	require.Equal(t, "a%20b%25%22%C3%A9", delivery.EscapedAttribute(`a b%"é`))
}
