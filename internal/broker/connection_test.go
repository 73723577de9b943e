package broker_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/broker"
)

func TestTheAddressOfABroker(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind, text string
		want       broker.Address
	}{
		{"nats", "nats://a", broker.Address{Hosts: []string{"a:4222"}}},
		{"nats", "tls://a:1,[::1]:2", broker.Address{Hosts: []string{"a:1", "[::1]:2"}, Secure: true}},
		{"rabbitmq", "amqps://mq/shop%2Feu", broker.Address{Hosts: []string{"mq:5671"}, Secure: true, Path: "shop/eu"}},
		{"rabbitmq", "amqp://mq/", broker.Address{Hosts: []string{"mq:5672"}}},
		{"kafka", "kafka://a:9092,b", broker.Address{Hosts: []string{"a:9092", "b:9092"}}},
	} {
		got, err := broker.ParseAddress(c.kind, c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, got, c.text)
	}
	for kind, texts := range map[string][]string{
		"nats": {
			"", "a:4222", "nats://", "http://a", "nats://me:secret@a", "nats://a/b", "nats://a:0", "nats://a:b", "nats://a:65536", "nats://a,,b", "nats://a?x",
		},
		"kafka": {"amqp://a", "kafka://a b"}, "rabbitmq": {"amqp://a/%zz"}, "": {"nats://a"},
	} {
		for _, text := range texts {
			_, err := broker.ParseAddress(kind, text)
			require.Error(t, err, "%s %s", kind, text)
			require.NotContains(t, err.Error(), "secret")
		}
	}
}
