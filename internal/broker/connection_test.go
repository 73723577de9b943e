package broker_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kgo"

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
		{"pubsub", "https://pubsub.googleapis.com", broker.Address{Hosts: []string{"pubsub.googleapis.com:443"}, Secure: true}},
		{"pubsub", "http://localhost:8085", broker.Address{Hosts: []string{"localhost:8085"}}},
		{"pubsub", "http://[::1]:8085", broker.Address{Hosts: []string{"[::1]:8085"}}},
		{"kafka", "kafka://a:9092,b", broker.Address{Hosts: []string{"a:9092", "b:9092"}}},
		{"sqs", "https://sqs.eu-central-1.amazonaws.com/123", broker.Address{
			Hosts: []string{"sqs.eu-central-1.amazonaws.com:443"}, Secure: true, Path: "123",
		}},
	} {
		got, err := broker.ParseAddress(c.kind, c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, got, c.text)
	}
	for kind, texts := range map[string][]string{
		"nats": {
			"", "a:4222", "nats://", "http://a", "nats://me:secret@a", "nats://a/b", "nats://a:0", "nats://a:b", "nats://a:65536", "nats://a,,b", "nats://a?x",
		},
		"pubsub": {"http://pubsub.example.com", "http://127.0.0.1.example.com:8085", "grpc://a"},
		"kafka":  {"amqp://a", "kafka://a b"}, "rabbitmq": {"amqp://a/%zz"}, "": {"nats://a"},
	} {
		for _, text := range texts {
			_, err := broker.ParseAddress(kind, text)
			require.Error(t, err, "%s %s", kind, text)
			require.NotContains(t, err.Error(), "secret")
		}
	}
}

// A server may accept a connection and never answer. Without a bound for the handshake, the client would keep it for ever.
func TestAHandshakeWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	ended := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			defer func() { _ = conn.Close() }()
			_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
			_, err = io.Copy(io.Discard, conn)
		}
		ended <- err
	}()
	options, err := broker.KafkaOptions(broker.Connection{
		Address: broker.Address{Hosts: []string{listener.Addr().String()}, Secure: true},
	}, "")
	require.NoError(t, err)
	client, err := kgo.NewClient(options...)
	require.NoError(t, err)
	defer client.Close()
	go func() { _ = client.Ping(context.WithoutCancel(t.Context())) }() // ends with the client
	select {
	case err := <-ended:
		require.NoError(t, err, "the client still waits")
	case <-time.After(30 * time.Second):
		require.Fail(t, "the client doesn't connect")
	}
}
