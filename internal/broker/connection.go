package broker

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Connection is how a client connects to a broker.
type Connection struct {
	Address

	// User and Secret authenticate the client; what they are depends on the broker. Both may be empty.
	User, Secret string
	// TLS is used if Address.Secure, with the host as the server's name; nil trusts the system's authorities.
	TLS *tls.Config
	// Dial connects to host:port, without TLS; nil dials directly. It decides which addresses are allowed.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Name is shown among the broker's connections.
	Name string
}

// Address is what the URL of a broker says.
type Address struct {
	// Hosts are host:port, at least one.
	Hosts []string
	// Secure is set for a scheme with TLS.
	Secure bool
	// Path is what follows the hosts, without the slash: RabbitMQ's virtual host, or the account of SQS.
	Path string
}

// scheme is what the scheme of a URL stands for.
type scheme struct {
	secure bool
	port   int
	// hasPath: a path may follow the hosts.
	hasPath bool
	// isLocal: the hosts must be this machine.
	isLocal bool
}

// schemes are by the kind of broker.
var schemes = map[string]map[string]scheme{
	"nats":     {"nats": {port: 4222}, "tls": {port: 4222, secure: true}},
	"rabbitmq": {"amqp": {port: 5672, hasPath: true}, "amqps": {port: 5671, secure: true, hasPath: true}},
	"kafka":    {"kafka": {port: 9092}, "kafkas": {port: 9093, secure: true}},
	"s3":       {"http": {port: 80}, "https": {port: 443, secure: true}},
	"sqs":      {"http": {port: 80, hasPath: true}, "https": {port: 443, secure: true, hasPath: true}},
	"pubsub":   {"http": {port: 80, isLocal: true}, "https": {port: 443, secure: true}},
}

// ParseAddress parses the URL of a broker of a kind: nats, rabbitmq, kafka, s3, sqs or pubsub. Several hosts are separated by
// commas: kafka://a:9092,b:9092. The error completes a sentence that begins with the field's name, and repeats nothing of the
// URL.
func ParseAddress(kind, text string) (a Address, err error) {
	known := schemes[kind]
	name, rest, found := strings.Cut(text, "://")
	s, ok := known[name]
	if !found || !ok {
		return a, errors.New("must begin with " + strings.Join(schemeNames(known), ":// or ") + "://")
	}
	if strings.ContainsAny(rest, "@?# \r\n\t\x00") {
		return a, errors.New("must have hosts only: no user, password, query or fragment")
	}
	hosts, path, _ := strings.Cut(rest, "/")
	if path != "" && !s.hasPath {
		return a, errors.New("must have no path")
	}
	if a.Path, err = url.PathUnescape(path); err != nil {
		return a, errors.New("must have a path that is escaped like that of any URL")
	}
	a.Secure = s.secure
	for host := range strings.SplitSeq(hosts, ",") {
		whole, err := withPort(host, s.port)
		if err != nil {
			return a, err
		}
		if s.isLocal && !isLocal(whole) {
			return a, errors.New("must have TLS: " + name + ":// is only for an emulator on this machine")
		}
		a.Hosts = append(a.Hosts, whole)
	}
	return a, nil
}

func schemeNames(of map[string]scheme) (names []string) {
	for name := range of {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return len(a) - len(b) })
	return names
}

// withPort returns host:port, with the default port for a host without one.
func withPort(text string, standard int) (string, error) {
	u := url.URL{Host: text}
	host, port := u.Hostname(), u.Port()
	if port == "" {
		port = strconv.Itoa(standard)
	}
	n, err := strconv.ParseUint(port, 10, 16)
	isIPv6 := strings.HasPrefix(text, "[")
	if host == "" || err != nil || n == 0 || strings.ContainsAny(host, "[]") || !isIPv6 && strings.Contains(host, ":") {
		return "", errors.New("must have hosts as host or host:port, separated by commas")
	}
	return net.JoinHostPort(host, port), nil
}

// isLocal reports whether a host:port is on this machine.
func isLocal(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// tlsFor returns the TLS configuration for a host:port; nil if the address isn't secure.
func (c Connection) tlsFor(address string) *tls.Config {
	if !c.Secure {
		return nil
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.TLS != nil {
		config = c.TLS.Clone()
	}
	if host, _, err := net.SplitHostPort(address); err == nil && config.ServerName == "" {
		config.ServerName = host
	}
	return config
}

// dialTimeout bounds a connection whose caller has set no deadline.
const dialTimeout = 10 * time.Second

// bounded returns a context with a deadline.
func bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, dialTimeout)
}

// dial connects without TLS.
func (c Connection) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	if c.Dial != nil {
		return c.Dial(ctx, network, address)
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// remaining returns the time until a context's deadline, at most dialTimeout.
func remaining(ctx context.Context) time.Duration {
	if end, ok := ctx.Deadline(); ok {
		return max(min(time.Until(end), dialTimeout), time.Millisecond)
	}
	return dialTimeout
}
