package webhook

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/delivery"
	"holdfast/internal/devstack/proxytest"
	"holdfast/internal/proxy"
)

// kindsOfProxies start every kind of proxy and return the text of its URL.
var kindsOfProxies = map[string]func(*testing.T, proxytest.Options) (*proxytest.Proxy, string){
	"squid": func(t *testing.T, o proxytest.Options) (*proxytest.Proxy, string) {
		t.Helper()
		p := proxytest.Squid(t, o)
		return p, "http://" + credential(o, proxytest.Password) + p.Address
	},
	"tinyproxy": func(t *testing.T, o proxytest.Options) (*proxytest.Proxy, string) {
		t.Helper()
		p := proxytest.Tinyproxy(t, o)
		return p, "http://" + credential(o, proxytest.TinyproxyPassword) + p.Address
	},
	"microsocks": func(t *testing.T, o proxytest.Options) (*proxytest.Proxy, string) {
		t.Helper()
		p := proxytest.Microsocks(t, o)
		return p, "socks5://" + credential(o, proxytest.Password) + p.Address
	},
	"dante": func(t *testing.T, o proxytest.Options) (*proxytest.Proxy, string) {
		t.Helper()
		p := proxytest.Dante(t, o)
		return p, "socks5://" + p.Address
	},
}

func credential(o proxytest.Options, password string) string {
	if !o.Password {
		return ""
	}
	return url.UserPassword(proxytest.User, password).String() + "@"
}

// routesThrough has one proxy, which is the default.
func routesThrough(t *testing.T, text string) Routes {
	t.Helper()
	list, err := proxy.Parse("office=" + strings.ReplaceAll(text, ",", "%2C"))
	require.NoError(t, err)
	return Routes{Proxies: list, Default: list[0]}
}

func senderThrough(t *testing.T, routes Routes, names *nameServer, folder string) *Sender {
	t.Helper()
	dialer := newDialer(guard{allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}})
	if names != nil {
		dialer.Resolver = names.resolver()
	}
	s := newSender(SenderOptions{Certificates: folder, Routes: routes}, dialer)
	t.Cleanup(s.Close)
	return s
}

// from is where a request came from.
func from(t *testing.T, r request) string {
	t.Helper()
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	require.NoError(t, err)
	return host
}

// Deliveries leave from the proxy's address, by each kind of proxy, with and without a password, over HTTP, TLS and HTTP/2. Host and
// SNI have the name, which no proxy is asked to resolve.
func TestDeliveriesLeaveThroughAProxy(t *testing.T) {
	t.Parallel()
	for name, start := range kindsOfProxies {
		for _, password := range []bool{false, true} {
			if name == "dante" && password {
				continue
			}
			t.Run(fmt.Sprintf("%s password=%v", name, password), func(t *testing.T) {
				t.Parallel()
				_, text := start(t, proxytest.Options{Password: password})
				names := newNameServer(t)
				names.set("127.0.0.1")
				for _, protocol := range []string{"plain", "http/1.1", "h2"} {
					a, folder := newAuthority(t), t.TempDir()
					target, got := serveAs(t, a, protocol, folder)
					s := senderThrough(t, routesThrough(t, text), names, folder)
					for i := range 3 {
						result := s.Send(t.Context(), target, jobOf(0), messageOf(`{}`))
						require.Equal(t, delivery.OK, result.Kind, "%s: %s %s", protocol, result.Code, result.Error)
						require.Equal(t, "office", result.Proxy)
						require.Equal(t, i == 0, result.Connected)
						require.Equal(t, delivery.Reached, result.Reach)
						r := <-got
						require.Equal(t, proxytest.Outgoing, from(t, r))
						require.True(t, strings.HasPrefix(r.Host, "crm.example.test:"), r.Host)
						if protocol != "plain" {
							require.Equal(t, "crm.example.test", r.TLS.ServerName)
							require.Equal(t, map[string]int{"http/1.1": 1, "h2": 2}[protocol], r.ProtoMajor)
						}
					}
				}
			})
		}
	}
}

// serveAs starts an endpoint called crm.example.test.
func serveAs(t *testing.T, a *authority, protocol, folder string) (delivery.Target, chan request) {
	t.Helper()
	e := &endpoint{got: make(chan request, 100)}
	e.Server = httptest.NewUnstartedServer(e.handler(t, nil))
	e.Config.ErrorLog = discarded()
	target := to("")
	scheme := "http"
	if protocol == "plain" {
		e.Start()
	} else {
		scheme = "https"
		e.TLS = &tls.Config{Certificates: []tls.Certificate{a.sign(func(c *x509.Certificate) { c.DNSNames = []string{"crm.example.test"} })}, MinVersion: tls.VersionTLS12}
		e.EnableHTTP2 = protocol == "h2"
		e.StartTLS()
		target.Destination.HTTP.CA = a.file(folder + "/ca.pem")
	}
	t.Cleanup(e.Close)
	_, port, err := net.SplitHostPort(e.Listener.Addr().String())
	require.NoError(t, err)
	target.Destination.HTTP.URL = scheme + "://crm.example.test:" + port
	return target, e.got
}

// Behind a proxy the guard holds for names and numbers, when a name changes to a private address, and for redirects. Nothing private
// is asked of the proxy, which could reach it.
func TestTheGuardHoldsBehindAProxy(t *testing.T) {
	t.Parallel()
	for name, start := range kindsOfProxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, text := start(t, proxytest.Options{})
			names := newNameServer(t)
			target, got := serveAs(t, nil, "plain", "")
			_, port, err := net.SplitHostPort(strings.TrimPrefix(target.Destination.HTTP.URL, "http://"))
			require.NoError(t, err)
			var reached atomic.Int32
			inside := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
			require.NoError(t, inside.Listener.Close())
			inside.Listener, err = net.Listen("tcp", "127.0.0.2:"+port)
			require.NoError(t, err)
			inside.Start()
			t.Cleanup(inside.Close)
			s := senderThrough(t, routesThrough(t, text), names, "")
			send := func(to delivery.Target) delivery.Result { return s.Send(t.Context(), to, jobOf(0), messageOf(`{}`)) }

			require.Equal(t, "dns", send(target).Code)
			names.set("127.0.0.1")
			require.Equal(t, delivery.OK, send(target).Kind)
			require.Equal(t, proxytest.Outgoing, from(t, <-got))
			for _, private := range []string{"127.0.0.2", "::ffff:127.0.0.2", "10.0.0.1", "169.254.169.254", "::1", "64:ff9b::7f00:2"} {
				s.clients.shared["office"].CloseIdleConnections()
				names.set(private)
				result := send(target)
				require.Equal(t, "private_address", result.Code, private)
				require.Equal(t, delivery.Bad, result.Kind)
			}
			for _, host := range []string{"127.0.0.2", "[::ffff:127.0.0.2]"} {
				require.Equal(t, "private_address", send(to("http://"+host+":"+port)).Code, host)
			}
			redirects := newEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "http://127.0.0.2:"+port, http.StatusTemporaryRedirect)
			})
			require.Equal(t, "307", send(to(redirects.URL)).Code)
			require.Zero(t, reached.Load())
		})
	}
}

// Faults of a proxy differ from faults of an endpoint: a proxy that can't be used counts against no destination, one whose
// rules refuse an endpoint blocks that destination, and an endpoint that it can't reach has failed. Nothing leaves directly
// meanwhile, and no error has an address or a credential.
func TestAProxyAtFaultDoesNotChargeTheEndpoint(t *testing.T) {
	t.Parallel()
	nothing, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	closed := nothing.Addr().String()
	require.NoError(t, nothing.Close())
	website := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(map[string]int{http.MethodConnect: http.StatusMethodNotAllowed}[r.Method])
	}))
	t.Cleanup(website.Close)
	endpoint := newEndpoint(t, nil)
	refuses := proxytest.Options{Deny: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}
	wrong := func(address string) string { return strings.Replace(address, "://", "://holdfast:hunter2@", 1) }
	with := func(name string, o proxytest.Options) func(*testing.T) string {
		return func(t *testing.T) string { t.Helper(); _, text := kindsOfProxies[name](t, o); return text }
	}
	without := func(name string) func(*testing.T) string {
		return func(t *testing.T) string {
			t.Helper()
			p, text := kindsOfProxies[name](t, proxytest.Options{Password: true})
			scheme, _, _ := strings.Cut(text, "://")
			return scheme + "://" + p.Address
		}
	}
	const ours, blocked, bad = delivery.Ours, delivery.Blocked, delivery.Bad
	for name, c := range map[string]struct {
		url   func(*testing.T) string
		to    string
		kind  delivery.Kind
		code  string
		reach delivery.Reach
		says  string
	}{
		"nothing listens":      {func(*testing.T) string { return "http://" + closed }, endpoint.URL, ours, "proxy", 0, "nothing listens"},
		"SOCKS: nothing there": {func(*testing.T) string { return "socks5://" + closed }, endpoint.URL, ours, "proxy", 0, "nothing listens"},
		"a website":            {func(*testing.T) string { return website.URL }, endpoint.URL, ours, "proxy", 0, "isn't a forward proxy"},
		"SOCKS: a website":     {func(*testing.T) string { return "socks5" + website.URL[4:] }, endpoint.URL, ours, "proxy", 0, "doesn't respond"},
		"no TLS":               {func(*testing.T) string { return "https" + website.URL[4:] }, endpoint.URL, ours, "proxy", 0, "doesn't speak TLS"},
		"no such name":         {func(*testing.T) string { return "http://proxy.invalid:1" }, endpoint.URL, ours, "proxy", 0, "can't be resolved"},
		"squid: no password":   {without("squid"), endpoint.URL, ours, "proxy", 0, "asks for a user and a password (407)"},
		"tiny: no password":    {without("tinyproxy"), endpoint.URL, ours, "proxy", 0, "asks for a user and a password (407)"},
		"micro: no password":   {without("microsocks"), endpoint.URL, ours, "proxy", 0, "asks for a user and a password"},
		"squid: wrong":         {func(t *testing.T) string { t.Helper(); return wrong(without("squid")(t)) }, endpoint.URL, ours, "proxy", 0, "refuses the user or the password"},
		"micro: wrong":         {func(t *testing.T) string { t.Helper(); return wrong(without("microsocks")(t)) }, endpoint.URL, ours, "proxy", 0, "refuses the user or the password"},
		"squid: a rule":        {with("squid", refuses), endpoint.URL, blocked, "proxy_refused", 0, "refuses to connect to this endpoint (403)"},
		"dante: a rule":        {with("dante", refuses), endpoint.URL, blocked, "proxy_refused", 0, "rules refuse"},
		"squid: endpoint gone": {with("squid", proxytest.Options{}), "http://" + closed, bad, "connection", delivery.Unreached, "couldn't connect to the endpoint (503)"},
		"tiny: endpoint gone":  {with("tinyproxy", proxytest.Options{}), "http://" + closed, bad, "connection", delivery.Unreached, "couldn't connect to the endpoint"},
		"micro: endpoint gone": {with("microsocks", proxytest.Options{}), "http://" + closed, bad, "connection", delivery.Reached, "connection refused"},
		"dante: endpoint gone": {with("dante", proxytest.Options{}), "http://" + closed, bad, "connection", delivery.Reached, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := senderThrough(t, routesThrough(t, c.url(t)), nil, "")
			result := s.Send(t.Context(), to(c.to), jobOf(0), messageOf(`{}`))
			require.Equal(t, c.kind, result.Kind, "%s %s", result.Code, result.Error)
			require.Equal(t, c.code, result.Code, result.Error)
			require.Equal(t, c.reach, result.Reach)
			require.Equal(t, "office", result.Proxy)
			require.Contains(t, result.Error, "proxy office: ")
			require.Contains(t, result.Error, c.says)
			for _, secret := range []string{"127.0.0.1", "hunter2", proxytest.TinyproxyPassword, proxytest.User + ":"} {
				require.NotContains(t, result.Error, secret)
			}
		})
	}
	t.Cleanup(func() { require.Empty(t, endpoint.got, "a request has left directly, or through a proxy that refuses") })
}

// A destination's proxy goes before the default, direct before both, and one that this worker doesn't have blocks the destination.
// Kept connections aren't shared between proxies.
func TestADestinationChoosesItsProxy(t *testing.T) {
	t.Parallel()
	_, one := kindsOfProxies["tinyproxy"](t, proxytest.Options{})
	_, other := kindsOfProxies["microsocks"](t, proxytest.Options{})
	list, err := proxy.Parse("one=" + one + " other=" + other)
	require.NoError(t, err)
	var connections atomic.Int32
	e := &endpoint{got: make(chan request, 100)}
	e.Server = httptest.NewUnstartedServer(e.handler(t, nil))
	e.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	e.Start()
	t.Cleanup(e.Close)
	s := senderThrough(t, Routes{Proxies: list, Default: list[0]}, nil, "")
	for _, c := range []struct {
		names, uses, from string
		connections       int32
	}{
		{"", "one", proxytest.Outgoing, 1},
		{"one", "one", proxytest.Outgoing, 1},
		{"other", "other", proxytest.Outgoing, 2},
		{"direct", "", "127.0.0.1", 3},
		{"other", "other", proxytest.Outgoing, 3},
	} {
		target := to(e.URL)
		target.Destination.HTTP.Proxy = c.names
		result := s.Send(t.Context(), target, jobOf(0), messageOf(`{}`))
		require.Equal(t, delivery.OK, result.Kind, result.Error)
		require.Equal(t, c.uses, result.Proxy)
		require.Equal(t, c.from, from(t, <-e.got))
		require.Equal(t, c.connections, connections.Load())
	}
	target := to(e.URL)
	target.Destination.HTTP.Proxy = "third"
	result := s.Send(t.Context(), target, jobOf(0), messageOf(`{}`))
	require.Equal(t, delivery.Blocked, result.Kind)
	require.Equal(t, "proxy_unknown", result.Code)
	require.Empty(t, e.got)
}

// Hosts on the proxy's list go to it by name, unchecked; all others are resolved and checked here.
func TestAProxyResolvesOnlyTheHostsOnItsList(t *testing.T) {
	t.Parallel()
	for name, start := range kindsOfProxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, text := start(t, proxytest.Options{})
			names := newNameServer(t) // knows no name
			s := senderThrough(t, routesThrough(t, text+"?resolve=localhost&resolve=*.hooks.test"), names, "")
			e := newEndpoint(t, nil)
			_, port, err := net.SplitHostPort(e.Listener.Addr().String())
			require.NoError(t, err)
			send := func(host string) delivery.Result {
				return s.Send(t.Context(), to("http://"+host+":"+port), jobOf(0), messageOf(`{}`))
			}
			result := send("localhost")
			require.Equal(t, delivery.OK, result.Kind, result.Error)
			require.Equal(t, proxytest.Outgoing, from(t, <-e.got))
			result = send("a.hooks.test") // the proxy knows no such name either
			require.Equal(t, delivery.Unreached, result.Reach)
			require.Equal(t, delivery.Bad, result.Kind)
			require.Contains(t, result.Error, "proxy office")
			require.Equal(t, "dns", send("hooks.test").Code)
			require.Equal(t, "private_address", send("127.0.0.2").Code)
		})
	}
}

// A proxy that doesn't respond is tried by one attempt at a time; others end at once, so that it doesn't use up the slots. Once it
// responds, deliveries go through it.
func TestADeadProxyFailsFast(t *testing.T) {
	t.Parallel()
	first := proxytest.Tinyproxy(t, proxytest.Options{})
	e := newEndpoint(t, nil)
	s := senderThrough(t, routesThrough(t, "http://"+first.Address), nil, "")
	send := func() delivery.Result { return s.Send(t.Context(), to(e.URL), jobOf(0), messageOf(`{}`)) }
	require.Equal(t, delivery.OK, send().Kind)
	port := first.Port(t)
	first.Stop()
	s.clients.shared["office"].CloseIdleConnections()
	require.Equal(t, "proxy", send().Code)
	proxytest.Tinyproxy(t, proxytest.Options{Port: port})
	require.Equal(t, "proxy", send().Code, "it rests")
	require.Eventually(t, func() bool { return send().Kind == delivery.OK }, time.Minute, 100*time.Millisecond)
}

// Requests to providers' APIs go through the proxy, too, and the guard holds for them.
func TestRequestsToAPIsLeaveThroughAProxy(t *testing.T) {
	t.Parallel()
	_, text := kindsOfProxies["tinyproxy"](t, proxytest.Options{})
	e := newEndpoint(t, nil)
	client := &http.Client{Transport: NewTransport([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, routesThrough(t, text).Default)}
	get := func(address string) error {
		request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, http.NoBody)
		require.NoError(t, err)
		response, err := client.Do(request)
		if err == nil {
			_, _ = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		return err
	}
	require.NoError(t, get(e.URL))
	require.Equal(t, proxytest.Outgoing, from(t, <-e.got))
	var refused *PrivateAddressError
	require.ErrorAs(t, get(strings.Replace(e.URL, "127.0.0.1", "127.0.0.2", 1)), &refused)
}
