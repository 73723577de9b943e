package ingress

import (
	"net"
	"net/netip"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/stretchr/testify/require"
	"github.com/valyala/fasthttp"
)

// clientOf returns the client of a request from the peer, with these lines of X-Forwarded-For.
func clientOf(t *testing.T, trusted []string, peer string, forwarded ...string) string {
	t.Helper()
	proxies, err := newProxies(trusted)
	require.NoError(t, err)
	var request fasthttp.Request
	for _, line := range forwarded {
		request.Header.Add("X-Forwarded-For", line)
	}
	var fctx fasthttp.RequestCtx
	fctx.Init(&request, net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(peer), 4711)), nil)
	app := fiber.New()
	c := app.AcquireCtx(&fctx)
	defer app.ReleaseCtx(c)
	return proxies.client(c).String()
}

// The client of a request:
//   - is the peer, unless that is a trusted proxy
//   - is what a trusted proxy has added, at the end of the list
//   - doesn't depend on what the sender has put in front of that
func TestTheClientIsWhoOurProxiesSay(t *testing.T) {
	t.Parallel()
	ours := []string{"10.0.0.0/8", "192.0.2.7", "fd00::/8"}
	for name, c := range map[string]struct {
		trusted   []string
		peer      string
		forwarded []string
		want      string
	}{
		"no proxies":                         {nil, "203.0.113.5", []string{"198.51.100.1"}, "203.0.113.5"},
		"a peer that is none of ours":        {ours, "203.0.113.5", []string{"198.51.100.1"}, "203.0.113.5"},
		"our proxy, silent":                  {ours, "10.1.2.3", nil, "10.1.2.3"},
		"our proxy, which overwrites":        {ours, "10.1.2.3", []string{"198.51.100.1"}, "198.51.100.1"},
		"our proxy, which appends":           {ours, "10.1.2.3", []string{"1.1.1.1, 198.51.100.1"}, "198.51.100.1"},
		"two of ours":                        {ours, "10.1.2.3", []string{"1.1.1.1, 198.51.100.1, 192.0.2.7"}, "198.51.100.1"},
		"a line of the sender's own":         {ours, "10.1.2.3", []string{"1.1.1.1", "198.51.100.1"}, "198.51.100.1"},
		"a claim to be one of ours":          {ours, "10.1.2.3", []string{"10.9.9.9, 198.51.100.1"}, "198.51.100.1"},
		"only ours":                          {ours, "10.1.2.3", []string{"10.9.9.9"}, "10.9.9.9"},
		"no address":                         {ours, "10.1.2.3", []string{"1.1.1.1, unknown"}, "10.1.2.3"},
		"no address, in front":               {ours, "10.1.2.3", []string{"<script>, 198.51.100.1"}, "198.51.100.1"},
		"with a port":                        {ours, "10.1.2.3", []string{"198.51.100.1:4711"}, "198.51.100.1"},
		"IPv6":                               {ours, "fd00::1", []string{"2001:db8::5"}, "2001:db8::5"},
		"IPv6 with a port":                   {ours, "fd00::1", []string{"[2001:db8::5]:80"}, "2001:db8::5"},
		"IPv4 in the notation of IPv6":       {ours, "::ffff:10.1.2.3", []string{"::ffff:198.51.100.1"}, "198.51.100.1"},
		"a proxy by IPv4, trusted as such":   {[]string{"127.0.0.1"}, "::ffff:127.0.0.1", []string{"1.1.1.1"}, "1.1.1.1"},
		"an empty list where ours has none":  {ours, "10.1.2.3", []string{""}, "10.1.2.3"},
		"an empty end of a list that is odd": {ours, "10.1.2.3", []string{"198.51.100.1,"}, "10.1.2.3"},
	} {
		require.Equal(t, c.want, clientOf(t, c.trusted, c.peer, c.forwarded...), name)
	}
	_, err := newProxies([]string{"the-proxy"})
	require.ErrorContains(t, err, "the-proxy")
}
