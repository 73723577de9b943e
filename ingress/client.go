package ingress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"
)

// proxies are the networks whose X-Forwarded-For is trusted.
type proxies []netip.Prefix

func newProxies(texts []string) (all proxies, err error) {
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			address, err := netip.ParseAddr(text)
			if err != nil {
				return nil, fmt.Errorf("read trusted proxy: %q is neither an address nor a network", text)
			}
			network = netip.PrefixFrom(address, address.BitLen())
		}
		all = append(all, network.Masked())
	}
	return all, nil
}

func (p proxies) trust(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(network netip.Prefix) bool { return network.Contains(a) })
}

// client returns the address that a request comes from: the peer of the connection or, if that is a trusted proxy, the last
// address in X-Forwarded-For that isn't one. Addresses to the left of it may be forged: a sender must not be able to choose its
// bucket or a place on an allow list.
func (p proxies) client(c *fiber.Ctx) netip.Addr {
	client := peerOf(c)
	hops := forwardedFor(c)
	for i := len(hops) - 1; i >= 0 && p.trust(client); i-- {
		hop, ok := parseHop(hops[i])
		if !ok {
			break
		}
		client = hop
	}
	return client
}

func peerOf(c *fiber.Ctx) netip.Addr {
	peer, ok := c.Context().RemoteAddr().(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	return peer.AddrPort().Addr().Unmap().WithZone("")
}

// forwardedFor returns the hops of all X-Forwarded-For lines, nearest last.
func forwardedFor(c *fiber.Ctx) (hops []string) {
	for _, line := range c.Request().Header.PeekAll(fiber.HeaderXForwardedFor) {
		hops = append(hops, strings.Split(string(line), ",")...)
	}
	return hops
}

// parseHop parses an address, which some proxies write with its port.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	if withPort, err := netip.ParseAddrPort(text); err == nil {
		return withPort.Addr().Unmap().WithZone(""), true
	}
	address, err := netip.ParseAddr(text)
	return address.Unmap().WithZone(""), err == nil
}
