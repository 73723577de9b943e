package broker

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

// Mechanisms lists the SASL mechanisms for Kafka, the default first.
func Mechanisms() []string { return []string{"SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"} }

// KafkaOptions returns the options of a client of Kafka. Secret is the password of User, for a mechanism of Mechanisms; "" is the
// default. Without a User, the client doesn't authenticate.
func KafkaOptions(c Connection, mechanism string) ([]kgo.Opt, error) {
	options := []kgo.Opt{
		kgo.SeedBrokers(c.Hosts...), kgo.ClientID(c.Name), kgo.Dialer(c.dialKafka), kgo.DisableClientMetrics(),
	}
	if c.User == "" {
		return options, nil
	}
	how, err := c.sasl(mechanism)
	if err != nil {
		return nil, err
	}
	return append(options, kgo.SASL(how)), nil
}

// dialKafka connects, with TLS if the address is secure. The client's own requests, such as for metadata, have no deadline.
func (c Connection) dialKafka(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	conn, err := c.dial(ctx, network, address)
	config := c.tlsFor(address)
	if err != nil || config == nil {
		return conn, err
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // the handshake's error matters
		return nil, err
	}
	return secured, nil
}

func (c Connection) sasl(mechanism string) (sasl.Mechanism, error) {
	switch mechanism {
	case "", "SCRAM-SHA-512":
		return scram.Auth{User: c.User, Pass: c.Secret}.AsSha512Mechanism(), nil
	case "SCRAM-SHA-256":
		return scram.Auth{User: c.User, Pass: c.Secret}.AsSha256Mechanism(), nil
	case "PLAIN":
		return plain.Auth{User: c.User, Pass: c.Secret}.AsMechanism(), nil
	}
	return nil, fmt.Errorf("unknown SASL mechanism: use one of %v", Mechanisms())
}
