package webhook

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
)

// PrivateAddressError is returned instead of connecting to an address that isn't allowed.
type PrivateAddressError struct{ Address netip.Addr }

func (e *PrivateAddressError) Error() string {
	return fmt.Sprintf("%s isn't a public address", e.Address)
}

// guard decides which addresses are allowed. Its zero value allows the public internet.
type guard struct {
	// allowed lists networks that are allowed although they aren't public.
	allowed    []netip.Prefix
	everything bool
}

// control runs for every connection, after name resolution, so that DNS can't bypass it.
func (g guard) control(_, address string, _ syscall.RawConn) error {
	target, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("read address to dial: %w", err)
	}
	if !g.allows(target.Addr()) {
		return &PrivateAddressError{Address: target.Addr()}
	}
	return nil
}

// CheckAddress returns a function that rejects a URL whose host is localhost or an IP address outside the public internet and the
// allowed networks. Other names are checked when a request is sent.
func CheckAddress(allowed []netip.Prefix) func(address string) error {
	g := guard{allowed: allowed}
	return func(address string) error {
		ip, ok := addressIn(address)
		if !ok || g.allows(ip) {
			return nil
		}
		return fmt.Errorf("%w; to deliver there, set HOLDFAST_DELIVERIES_ALLOWED_NETWORKS=%s, or its network",
			&PrivateAddressError{Address: ip}, listWith(allowed, ip))
	}
}

// listWith returns networks and an address as the value of HOLDFAST_DELIVERIES_ALLOWED_NETWORKS.
func listWith(allowed []netip.Prefix, ip netip.Addr) string {
	var list strings.Builder
	for _, network := range allowed {
		list.WriteString(network.String() + ",")
	}
	return list.String() + ip.String()
}

// addressIn returns the IP address in a URL, also for localhost. Invalid URLs are reported elsewhere.
func addressIn(text string) (ip netip.Addr, ok bool) {
	u, err := url.Parse(text)
	if err != nil {
		return ip, false
	}
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		host = "127.0.0.1"
	}
	ip, err = netip.ParseAddr(host)
	return ip, err == nil
}

func (g guard) allows(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return g.everything || isPublic(a) ||
		slices.ContainsFunc(g.allowed, func(p netip.Prefix) bool { return p.Contains(a) })
}

// notPublic lists the special-purpose networks of IANA's registries. Some translate to IPv4 (NAT64, SIIT, 6to4, Teredo) and so
// can lead to any address. 168.63.129.16 is Azure's WireServer, which is reachable only inside Azure although the address is
// public.
var notPublic = prefixes(
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"168.63.129.16/32", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	"5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

func isPublic(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	return !isISATAP(a) && !slices.ContainsFunc(notPublic, func(p netip.Prefix) bool { return p.Contains(a) })
}

// isISATAP reports whether the last 64 bits tunnel to an IPv4 address (RFC 5214), which works in any network.
func isISATAP(a netip.Addr) bool {
	b := a.As16()
	return a.Is6() && b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}
