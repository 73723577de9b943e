package queue_test

import (
	"crypto/tls"
	"crypto/x509"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/delivery/queue"
	"holdfast/delivery/webhook"
	"holdfast/internal/devstack/brokertest"
)

// A connection is made for the first delivery, shared, and closed when it is idle.
func TestAnIdleConnectionIsClosed(t *testing.T) {
	t.Parallel()
	broker := startNATS(t, &server.Options{})
	setUp, err := nats.Connect(broker.ClientURL())
	require.NoError(t, err)
	js, err := jetstream.New(setUp)
	require.NoError(t, err)
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "STOCK", Subjects: []string{"stock.>"}})
	require.NoError(t, err)
	setUp.Close()
	s, to := newSender(t, webhook.SenderOptions{}), toNATS(broker.ClientURL(), nil)
	s.CloseIdleAfter(200 * time.Millisecond)
	require.Zero(t, s.Open())
	var sent sync.WaitGroup
	for i := range 50 {
		sent.Go(func() {
			j, m := order(i)
			r := sendWithin(t.Context(), s, to, j, m, 5*time.Second)
			if r.Kind != delivery.OK {
				t.Errorf("%+v", r)
			}
		})
	}
	sent.Wait()
	require.LessOrEqual(t, s.Open(), 1)
	require.Eventually(t, func() bool { return s.Open() == 0 && broker.NumClients() == 0 }, 5*time.Second, 10*time.Millisecond)
	j, m := order(99)
	r := send(t, s, to, j, m)
	require.Equal(t, "stored", r.Code)
	require.True(t, r.Connected)
}

// A variable may have two secrets while one is replaced, the new one first, and the lines of a credentials file.
func TestTheSecretOfAVariable(t *testing.T) {
	t.Parallel()
	to := toRabbitMQ("amqp://a", func(r *delivery.RabbitMQ) { r.Secrets = "BROKER_PASSWORD" })
	require.Empty(t, queue.SecretOf(to))
	to.Secrets = []string{"new", "old"}
	require.Equal(t, "new", queue.SecretOf(to))
	to = toNATS("nats://a", nil)
	to.Secrets = []string{
		"-----BEGIN NATS USER JWT-----", "eyJ0", "------END NATS USER JWT------", "-----BEGIN USER NKEY SEED-----", "SUAK",
		"------END USER NKEY SEED------", "*************************************************************",
	}
	require.Equal(t, strings.Join(to.Secrets, "\n"), queue.SecretOf(to))
}

// A broker may have an authority of its own, and ask for a client certificate.
func TestABrokerWithTLS(t *testing.T) {
	t.Parallel()
	serverCertificate, serverKey := brokertest.Certificate(t)
	clientCertificate, clientKey := brokertest.Certificate(t)
	pair, err := tls.X509KeyPair([]byte(serverCertificate), []byte(serverKey))
	require.NoError(t, err)
	own, err := tls.X509KeyPair([]byte(clientCertificate), []byte(clientKey))
	require.NoError(t, err)
	clients, servers := x509.NewCertPool(), x509.NewCertPool()
	require.True(t, clients.AppendCertsFromPEM([]byte(clientCertificate)))
	require.True(t, servers.AppendCertsFromPEM([]byte(serverCertificate)))
	broker := startNATS(t, &server.Options{TLSTimeout: 5, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: clients, MinVersion: tls.VersionTLS12,
	}})
	url := "tls://" + broker.Addr().String()
	streamOn(t, url, jetstream.StreamConfig{Name: "STOCK", Subjects: []string{"stock.>"}},
		nats.Secure(&tls.Config{RootCAs: servers, Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}))
	s := newSender(t, webhook.SenderOptions{})
	j, m := order(1)
	r := send(t, s, toNATS(url, nil), j, m)
	require.Equal(t, "tls", r.Code, r)
	require.Equal(t, delivery.Bad, r.Kind)
	trusting := func(n *delivery.NATS) { n.CA = serverCertificate }
	require.NotEqual(t, delivery.OK, send(t, s, toNATS(url, trusting), j, m).Kind, "it asks for a client certificate")
	r = send(t, s, toNATS(url, func(n *delivery.NATS) {
		n.CA, n.Certificate, n.Key = serverCertificate, clientCertificate, clientKey
	}), j, m)
	require.Equal(t, "stored", r.Code, r)
	r = send(t, s, toNATS(url, func(n *delivery.NATS) { n.CA = "no-such-file.pem" }), j, m)
	require.Equal(t, "tls_files", r.Code, r)
}
