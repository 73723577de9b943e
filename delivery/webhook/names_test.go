package webhook

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/dns/dnsmessage"

	"holdfast/delivery"
)

// nameServer gives every name one address, which may change; while it has none, no name is known.
type nameServer struct {
	conn net.PacketConn
	is   atomic.Pointer[netip.Addr]
}

func newNameServer(t *testing.T) *nameServer {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	s := &nameServer{conn: conn}
	go s.serve()
	return s
}

func (s *nameServer) serve() {
	buffer := make([]byte, 1<<10)
	for {
		n, from, err := s.conn.ReadFrom(buffer)
		if err != nil {
			return
		}
		var question dnsmessage.Message
		if question.Unpack(buffer[:n]) != nil {
			continue
		}
		answer := s.answer(question)
		if packed, err := answer.Pack(); err == nil {
			_, _ = s.conn.WriteTo(packed, from)
		}
	}
}

func (s *nameServer) answer(m dnsmessage.Message) dnsmessage.Message {
	m.Response, m.Additionals = true, nil
	is := s.is.Load()
	if is == nil {
		m.RCode = dnsmessage.RCodeNameError
		return m
	}
	header := dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Class: dnsmessage.ClassINET}
	switch {
	case m.Questions[0].Type == dnsmessage.TypeA && is.Is4():
		m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: is.As4()}}}
	case m.Questions[0].Type == dnsmessage.TypeAAAA && is.Is6():
		m.Answers = []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: is.As16()}}}
	}
	return m
}

func (s *nameServer) set(address string) {
	a := netip.MustParseAddr(address)
	s.is.Store(&a)
}

func (s *nameServer) resolver() *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "udp", s.conn.LocalAddr().String())
	}}
}

// A name is checked for each connection: one that was public and becomes private, in any notation, isn't connected to.
func TestANameThatTurnsPrivate(t *testing.T) {
	t.Parallel()
	names := newNameServer(t)
	outside := newEndpoint(t, nil) // 127.0.0.1 is as good as public to this sender
	_, port, err := net.SplitHostPort(outside.Listener.Addr().String())
	require.NoError(t, err)
	var reached atomic.Int32
	inside := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	require.NoError(t, inside.Listener.Close())
	inside.Listener, err = net.Listen("tcp", "127.0.0.2:"+port)
	require.NoError(t, err)
	inside.Start()
	t.Cleanup(inside.Close)

	dialer := newDialer(guard{allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	dialer.Resolver = names.resolver()
	s := newSender(SenderOptions{}, dialer)
	t.Cleanup(s.Close)
	target := to("http://crm.example.test:" + port)
	send := func() delivery.Result { return s.Send(t.Context(), target, jobOf(0), messageOf(`{}`)) }

	result := send()
	require.Equal(t, "dns", result.Code, "a name that is not known may be tomorrow")
	require.Equal(t, delivery.Bad, result.Kind)
	names.set("127.0.0.1")
	outside.deliver(t, s, target, messageOf(`{}`))
	for _, private := range []string{"127.0.0.2", "::ffff:127.0.0.2", "10.0.0.1", "169.254.169.254", "::1", "fd00:ec2::254", "64:ff9b::7f00:2"} {
		s.clients.shared[""].CloseIdleConnections()
		names.set(private)
		result := send()
		require.Equal(t, "private_address", result.Code, private)
		require.Equal(t, delivery.Bad, result.Kind, "somebody may have made a mistake")
		require.NotContains(t, result.Error, "crm")
		require.NotContains(t, result.Error, private)
	}
	require.Zero(t, reached.Load())
	names.set("127.0.0.1")
	outside.deliver(t, s, target, messageOf(`{}`))
}

// What is not allowed is not reached: by its number in whatever notation, by a name of this machine, or by a redirect.
func TestPrivateAddressesAreNotReached(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	t.Cleanup(inside.Close)
	_, port, err := net.SplitHostPort(inside.Listener.Addr().String())
	require.NoError(t, err)
	s := NewSender(SenderOptions{AllowedNetworks: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	t.Cleanup(s.Close)
	for _, host := range []string{"127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]", "127.1", "2130706433", "0x7f000001"} {
		result := s.Send(t.Context(), to("http://"+host+":"+port), jobOf(0), messageOf(`{}`))
		require.Equal(t, delivery.Bad, result.Kind, host)
		require.Contains(t, []string{"private_address", "dns"}, result.Code, host)
	}
	require.Zero(t, reached.Load())

	allowed := netip.MustParsePrefix("127.0.0.0/8")
	redirects := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, strings.Replace(inside.URL, "127.0.0.1", "localhost", 1), http.StatusTemporaryRedirect)
	})
	s = NewSender(SenderOptions{AllowedNetworks: []netip.Prefix{allowed}})
	t.Cleanup(s.Close)
	require.Equal(t, "307", s.Send(t.Context(), to(redirects.URL), jobOf(0), messageOf(`{}`)).Code)
	require.Zero(t, reached.Load())
}

// A proxy of the environment would connect where the guard cannot look.
func TestProxiesOfTheEnvironmentAreIgnored(t *testing.T) {
	var asked atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(proxy.Close)
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, proxy.URL)
	}
	names := newNameServer(t) // proxies are never asked for loopback, so a name is needed
	names.set("127.0.0.1")
	endpoint := newEndpoint(t, nil)
	dialer := newDialer(guard{allowed: loopback})
	dialer.Resolver = names.resolver()
	s := newSender(SenderOptions{}, dialer)
	t.Cleanup(s.Close)
	address, err := url.Parse(endpoint.URL)
	require.NoError(t, err)
	endpoint.deliver(t, s, to("http://crm.example.test:"+address.Port()), messageOf(`{}`))
	require.Zero(t, asked.Load())
}
