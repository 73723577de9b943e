package queues_test

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"holdfast/ingress/queues"
	"holdfast/internal/devstack/brokertest"
	"holdfast/internal/devstack/proxytest"
	"holdfast/internal/proxy"
	"holdfast/providers/receiving"
)

// A queue is read through the proxy that its definition names, and never without it. Servers of NATS speak first.
func TestAQueueBehindAProxy(t *testing.T) {
	t.Parallel()
	inNATS := brokertest.NATS(t, "", "")
	publishNATS(t, connectNATS(t, inNATS), numbered(0, 3))
	kafka := brokertest.Kafka(t, "orders")
	client := connectKafka(t, kafka)
	publishKafka(t, client, numbered(0, 3))
	for name, q := range map[string]receiving.Queue{
		"NATS":  queueOf("nats", "nats://"+inNATS.Address, "ORDERS"),
		"Kafka": queueOf("kafka", "kafka://"+kafka, "orders"),
	} {
		t.Run(name, func(t *testing.T) { t.Parallel(); readThroughAProxy(t, q) })
	}
	t.Run("RabbitMQ", func(t *testing.T) {
		t.Parallel()
		rabbit := brokertest.RabbitMQ(t)
		channel := dialRabbit(t, rabbit)
		declare(t, channel, "orders", "quorum")
		publishRabbit(t, channel, "orders", numbered(0, 3))
		readThroughAProxy(t, queueOf("rabbitmq", "amqp://"+rabbit.Address, "orders"))
	})
}

func readThroughAProxy(t *testing.T, q receiving.Queue) {
	t.Helper()
	q.Proxy = "office"
	c := &commits{}
	require.Equal(t, queues.CodeSettings, c.problem(t, q))
	running := proxytest.Tinyproxy(t, proxytest.Options{})
	var err error
	c.proxies, err = proxy.Parse("office=http://" + running.Address)
	require.NoError(t, err)
	stop := c.read(t, q)
	awaitAll(t, c, numbered(0, 3))
	stop()
	running.Stop()
	got := queues.Check(t.Context(), q, c).Problem
	require.NotNil(t, got, "it was read without its proxy")
	require.Equal(t, queues.CodeUnreachable, got.Code)
}

// A broker may ask for a client certificate. What is wrong with one is said by its variable.
func TestABrokerAsksForACertificate(t *testing.T) {
	t.Parallel()
	serverCertificate, serverKey := brokertest.Certificate(t)
	certificate, key := brokertest.Certificate(t)
	_, otherKey := brokertest.Certificate(t)
	c := &commits{secrets: map[string]string{"CA": serverCertificate, "CERTIFICATE": certificate, "KEY": otherKey}}
	q := queueOf("nats", secureNATS(t, serverCertificate, serverKey, certificate, key), "ORDERS")
	q.Authorities = "CA"
	require.Equal(t, queues.CodeUnreachable, c.problem(t, q), "without a certificate")
	q.Certificate, q.Key = "CERTIFICATE", "KEY"
	got := queues.Check(t.Context(), q, c).Problem
	require.Equal(t, &queues.ProblemError{Code: queues.CodeSecret, Text: "CERTIFICATE and KEY don't belong together"}, got)
	c.secrets["KEY"] = key
	require.Empty(t, c.problem(t, q))
}

// secureNATS starts a server that lets only the client with this certificate in, and makes the stream ORDERS.
func secureNATS(t *testing.T, serverCertificate, serverKey, certificate, key string) (url string) {
	t.Helper()
	own, err := tls.X509KeyPair([]byte(serverCertificate), []byte(serverKey))
	require.NoError(t, err)
	clients := x509.NewCertPool()
	require.True(t, clients.AppendCertsFromPEM([]byte(certificate)))
	s, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true, TLSTimeout: 5,
		TLSConfig: &tls.Config{
			Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients, MinVersion: tls.VersionTLS12,
		},
	})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	require.True(t, s.ReadyForConnections(patience))
	url = "tls://" + s.Addr().String()
	servers := x509.NewCertPool()
	require.True(t, servers.AppendCertsFromPEM([]byte(serverCertificate)))
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(key))
	require.NoError(t, err)
	conn, err := nats.Connect(url, nats.Timeout(10*time.Second), nats.Secure(&tls.Config{
		RootCAs: servers, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
	}))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "ORDERS", Subjects: []string{"orders.>"}})
	require.NoError(t, err)
	return url
}
