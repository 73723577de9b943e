package chaos

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"
)

var proxies = toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())

// link is a connection between two programs that tests can disturb.
type link struct {
	name  string
	proxy *toxiproxy.Proxy
}

func newLink(name, upstream string) (*link, error) {
	l := &link{name: name, proxy: toxiproxy.NewProxy(proxies, name, "127.0.0.1:0", upstream)}
	return l, l.proxy.Start()
}

func (l *link) address() string { return l.proxy.Listen }

// The directions of traffic: up is to the server.
const (
	up   = "upstream"
	down = "downstream"
)

// disturb adds a toxic to all connections, old and new, with attributes as JSON.
func (l *link) disturb(t testing.TB, kind, direction, attributes string) {
	t.Helper()
	_, err := l.proxy.Toxics.AddToxicJson(strings.NewReader(fmt.Sprintf(
		`{"type":%q,"stream":%q,"attributes":%s}`, kind, direction, attributes)))
	require.NoError(t, err, "disturb %s", l.name)
}

// blackHole drops all traffic without closing connections.
func (l *link) blackHole(t testing.TB, direction string) {
	t.Helper()
	l.disturb(t, "timeout", direction, `{"timeout":0}`)
}

// cut closes all connections and refuses new ones, until heal.
func (l *link) cut() { l.proxy.Stop() }

// heal removes all toxics. Connections that were in a black hole are closed, because their state is undefined.
func (l *link) heal(t testing.TB) {
	t.Helper()
	l.proxy.Toxics.ResetToxics(context.Background())
	if err := l.proxy.Start(); err != nil {
		require.ErrorIs(t, err, toxiproxy.ErrProxyAlreadyStarted)
	}
}

// move closes all connections and leads new ones to another server.
func (l *link) move(t testing.TB, upstream string) {
	t.Helper()
	l.proxy.Stop()
	l.proxy.Upstream = upstream
	require.NoError(t, l.proxy.Start())
}

// through returns the URL of a server over the link.
func (l *link) through(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(err) // we built it
	}
	u.Host = l.address()
	return u.String()
}

// hostOf returns host:port of a URL.
func hostOf(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		panic(err)
	}
	return net.JoinHostPort(u.Hostname(), u.Port())
}
