package broker

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/rabbitmq/amqp091-go"
)

// heartbeat is the interval in which both sides of a connection to RabbitMQ show that they are alive.
const heartbeat = 10 * time.Second

// DialRabbitMQ connects to the first host of RabbitMQ that answers, before ctx ends. Secret is the password of User, by default
// guest's. Address.Path is the virtual host, by default "/".
func DialRabbitMQ(ctx context.Context, c Connection) (*amqp091.Connection, error) {
	var failed error
	for _, host := range c.Hosts {
		conn, err := c.dialRabbitMQ(ctx, host)
		if err == nil {
			return conn, nil
		}
		failed = fmt.Errorf("connect to RabbitMQ: %w", err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, failed
}

func (c Connection) dialRabbitMQ(ctx context.Context, host string) (*amqp091.Connection, error) {
	uri := amqp091.URI{Scheme: "amqp", Vhost: c.Path, Username: c.User, Password: c.Secret}
	if uri.Vhost == "" {
		uri.Vhost = "/"
	}
	if uri.Username == "" {
		uri.Username, uri.Password = "guest", "guest"
	}
	name, port, err := net.SplitHostPort(host)
	if err != nil {
		return nil, err
	}
	if uri.Host = name; c.Secure {
		uri.Scheme = "amqps"
	}
	if uri.Port, err = strconv.Atoi(port); err != nil {
		return nil, err
	}
	properties := amqp091.NewConnectionProperties()
	properties.SetClientConnectionName(c.Name)
	return amqp091.DialConfig(uri.String(), amqp091.Config{
		Heartbeat: heartbeat, Locale: "en_US", Properties: properties, TLSClientConfig: c.tlsFor(host),
		Dial: func(network, address string) (net.Conn, error) {
			conn, err := c.dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			// The library clears the deadline once the connection is open.
			return conn, conn.SetDeadline(time.Now().Add(remaining(ctx)))
		},
	})
}
