package webhook

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
)

// PrivateAddressError says that an address was refused before a connection was made.
type PrivateAddressError struct{ Address netip.Addr }

// Error names the address.
func (e *PrivateAddressError) Error() string {
	return fmt.Sprintf("%s is not an address of the public internet", e.Address)
}

// guard says which addresses may be reached. Its zero value is the public internet.
type guard struct {
	// allowed are reached although they are not of the public internet.
	allowed    []netip.Prefix
	everything bool
}

// control is asked for every connection, after the name has been resolved, so that no name and no second answer of a name server
// gets around it.
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

// CheckAddress returns a function that reports a URL whose host is an address outside of the public internet and of the allowed
// networks, or a name for this machine. Other names show where they lead only when a request is sent.
func CheckAddress(allowed []netip.Prefix) func(address string) error {
	g := guard{allowed: allowed}
	return func(address string) error {
		ip, ok := addressIn(address)
		if !ok || g.allows(ip) {
			return nil
		}
		return fmt.Errorf("%w; to deliver there, add its network to HOLDFAST_DELIVERIES_ALLOWED_NETWORKS",
			&PrivateAddressError{Address: ip})
	}
}

// addressIn is the address that a URL has for a host, or that a name for this machine stands for, if the URL has one of them.
// Whatever checks the destination reports a URL that can't be read.
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

// notPublic lists the special-purpose networks of IANA's registries for IPv4 and IPv6, including those that translate to IPv4
// (NAT64, SIIT, 6to4, Teredo): they can lead to any address. 168.63.129.16 is Azure's WireServer, which every machine there can
// reach although the address belongs to the public internet.
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

// isISATAP reports whether the last 64 bits tunnel to an IPv4 address (RFC 5214), which any network can do.
func isISATAP(a netip.Addr) bool {
	b := a.As16()
	return a.Is6() && b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}
