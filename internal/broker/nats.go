package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// ConnectNATS connects to NATS, before ctx ends. With a User, the Secret is its password; without, it is a token, the seed of an
// NKey, or the text of a credentials file. A lost connection isn't restored: more must not change that.
func ConnectNATS(ctx context.Context, c Connection, more ...nats.Option) (*nats.Conn, error) {
	options := []nats.Option{
		nats.Name(c.Name), nats.NoReconnect(), nats.Timeout(remaining(ctx)), nats.SetCustomDialer(natsDialer{ctx, c}),
		nats.FlusherTimeout(natsWriteTimeout),
		nats.SkipHostLookup(), // the dialer resolves names, and checks addresses
		// By default the library prints to stderr, also subjects, which may come from a payload.
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
	login, err := c.natsLogin()
	if err != nil {
		return nil, err
	}
	options = append(options, login...)
	if c.Secure {
		options = append(options, nats.Secure(c.tlsFor("")))
	}
	conn, err := nats.Connect(strings.Join(c.natsURLs(), ","), append(options, more...)...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS: %w", err)
	}
	return conn, nil
}

// natsWriteTimeout bounds a write to a server that reads nothing. Other calls of the client wait for the write.
const natsWriteTimeout = 5 * time.Second

func (c Connection) natsURLs() (all []string) {
	for _, host := range c.Hosts {
		if c.Secure {
			all = append(all, "tls://"+host)
		} else {
			all = append(all, "nats://"+host)
		}
	}
	return all
}

// natsDialer dials within the context of the connection that it was made for: when that ends, no further host is tried.
type natsDialer struct {
	ctx  context.Context //nolint:containedctx // the library's interface has none
	from Connection
}

func (d natsDialer) Dial(network, address string) (net.Conn, error) {
	return d.from.dial(d.ctx, network, address)
}

func (c Connection) natsLogin() ([]nats.Option, error) {
	switch {
	case c.User != "":
		return []nats.Option{nats.UserInfo(c.User, c.Secret)}, nil
	case c.Secret == "":
		return nil, nil
	case strings.Contains(c.Secret, "-----BEGIN NATS USER JWT-----"):
		return []nats.Option{nats.UserCredentialBytes([]byte(c.Secret))}, nil
	case strings.HasPrefix(c.Secret, "SU"):
		return seedLogin(c.Secret)
	}
	return []nats.Option{nats.Token(c.Secret)}, nil
}

// seedLogin signs with the seed of a user's NKey. A token that only looks like one is used as a token.
func seedLogin(seed string) ([]nats.Option, error) {
	pair, err := nkeys.FromSeed([]byte(seed))
	if err != nil {
		return []nats.Option{nats.Token(seed)}, nil //nolint:nilerr // it isn't a seed
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, errors.New("the seed of the NKey can't be used")
	}
	return []nats.Option{nats.Nkey(public, pair.Sign)}, nil
}
