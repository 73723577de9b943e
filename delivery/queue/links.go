package queue

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"holdfast/delivery"
	"holdfast/delivery/webhook"
	"holdfast/internal/broker"
)

// client is a connection to a broker, for one destination. It is safe for concurrent use.
type client interface {
	// publish returns a code once the broker has confirmed a message. Errors are a *failed, the context's, or of the network.
	publish(ctx context.Context, m message) (code string, err error)
	// check examines the queue.
	check(ctx context.Context) ([]delivery.Finding, error)
	// isUsable reports whether messages can still be sent. It must not wait: all destinations do meanwhile.
	isUsable() bool
	close()
}

// idleAfter is how long a connection without an attempt stays open.
const idleAfter = time.Minute

// links has the open connections, by destination, settings and secret. Without deliveries it is empty.
type links struct {
	idle time.Duration

	mu   sync.Mutex
	byID map[[sha256.Size]byte]*link
}

// link is the connection of a destination, which its attempts share.
type link struct {
	id [sha256.Size]byte
	// ready is closed when client or err is set.
	ready  chan struct{}
	client client
	err    error

	mu     sync.Mutex
	dialed error

	// users and timer belong to links.mu.
	users int
	timer *time.Timer
}

func newLinks(idle time.Duration) *links {
	return &links{idle: idle, byID: map[[sha256.Size]byte]*link{}}
}

// idOf identifies a connection: with another secret, setting or certificate file, a destination has another one.
func idOf(t delivery.Target, way webhook.Way) [sha256.Size]byte {
	to := t.Destination
	return sha256.Sum256(fmt.Appendf(nil, "%d %q %s %#v %#v %#v %#v %#v %#v %q %x %s",
		to.ID, to.Name, to.Kind(), value(to.NATS), value(to.RabbitMQ), value(to.Kafka), value(to.S3), value(to.SQS),
		value(to.PubSub), t.Secrets, way.ID, time.Duration(to.Timeout)))
}

func value[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// open returns the connection of a destination, and connects if there is none. The caller must release it, unless there is an
// error. isNew reports that it was made for the caller. The link isn't nil.
func (a *links) open(ctx context.Context, t delivery.Target, way webhook.Way) (l *link, isNew bool, err error) {
	id := idOf(t, way)
	a.mu.Lock()
	l = a.byID[id]
	if l != nil && l.isBroken() {
		l = nil
	}
	if isNew = l == nil; isNew {
		l = &link{id: id, ready: make(chan struct{})}
		a.byID[id] = l
	}
	l.users++
	if l.timer != nil {
		l.timer.Stop()
	}
	a.mu.Unlock()
	if isNew {
		l.client, l.err = l.connect(ctx, t, way)
		close(l.ready)
	}
	select {
	case <-l.ready:
		err = l.err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		a.release(l, err)
	}
	return l, isNew, err
}

// isBroken reports whether a connection couldn't be made, or can't be used any more.
func (l *link) isBroken() bool {
	select {
	case <-l.ready:
		return l.err != nil || !l.client.isUsable()
	default:
		return false
	}
}

// release ends the use of a connection. The last user of one that can't be used closes it.
func (a *links) release(l *link, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if l.users--; l.users > 0 {
		return
	}
	if err != nil && l.isBroken() {
		a.remove(l)
		return
	}
	l.timer = time.AfterFunc(a.idle, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if l.users == 0 {
			a.remove(l)
		}
	})
}

// remove forgets a connection and closes it. The caller has locked.
func (a *links) remove(l *link) {
	if a.byID[l.id] == l {
		delete(a.byID, l.id)
	}
	select {
	case <-l.ready:
		if l.client != nil {
			go l.client.close() // it may wait for the broker
		}
	default:
	}
}

func (a *links) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range a.byID {
		a.remove(l)
	}
}

// connect connects to the broker of a destination.
func (l *link) connect(ctx context.Context, t delivery.Target, way webhook.Way) (client, error) {
	to := t.Destination
	link, kind := to.Broker(), to.Kind()
	address, err := broker.ParseAddress(kind, link.URL)
	if err != nil {
		return nil, blocked("address", kind+".url "+err.Error())
	}
	c := broker.Connection{Address: address, User: link.User, TLS: way.TLS, Name: "holdfast", Dial: l.dial(way)}
	c.Secret = secretOf(t)
	switch {
	case to.NATS != nil:
		return connectNATS(ctx, c, *to.NATS)
	case to.RabbitMQ != nil:
		return connectRabbitMQ(ctx, c, *to.RabbitMQ)
	case to.S3 != nil:
		return connectS3(ctx, c, *to.S3)
	case to.PubSub != nil:
		return connectPubSub(c, *to.PubSub)
	case to.SQS != nil:
		return connectSQS(c, *to.SQS)
	}
	return connectKafka(ctx, c, to)
}

// dial remembers the last error: clients of brokers wrap it, replace it or only log it.
func (l *link) dial(way webhook.Way) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := way.Dial(ctx, network, address)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.dialed = err
		return conn, err
	}
}

func (l *link) dialError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dialed
}

// secretOf returns the newest secret of a destination. Each line of a variable counts as a secret, so those of a credentials file
// of NATS, or of a key of Google, are put together.
func secretOf(t delivery.Target) string {
	switch {
	case len(t.Secrets) == 0:
		return ""
	case t.Destination.NATS != nil && strings.HasPrefix(t.Secrets[0], "-----BEGIN NATS USER JWT-----"):
		return strings.Join(t.Secrets, "\n")
	case t.Destination.PubSub != nil:
		return firstJSON(strings.Join(t.Secrets, "\n"))
	}
	return t.Secrets[0]
}
