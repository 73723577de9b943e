package webhook

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"time"

	"holdfast/internal/proxy"
)

// Limits of a connection through a proxy.
const (
	// tunnelTimeout bounds one whose caller has set no deadline.
	tunnelTimeout = 15 * time.Second
	// maxTargets bounds the addresses of a host that are tried.
	maxTargets = 3
)

// connector connects to host:port.
type connector interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// through returns what connects through a proxy, with the dialer's resolver and guard; without a proxy, the dialer.
func through(dialer *net.Dialer, via *proxy.Proxy) connector {
	if via == nil {
		return dialer
	}
	return tunnel{dialer: dialer, proxy: via}
}

// tunnel connects through a proxy. It resolves names and checks the addresses here, as for a direct connection, and the proxy
// gets the checked address: it can't be made to resolve a name to another one. Only hosts that the proxy is configured to resolve
// go there by name.
type tunnel struct {
	dialer *net.Dialer
	proxy  *proxy.Proxy
	// eager: the target may send something before it is asked.
	eager bool
}

func (t tunnel) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if _, ok := ctx.Deadline(); !ok {
		bounded, cancel := context.WithTimeout(ctx, tunnelTimeout)
		defer cancel()
		ctx = bounded
	}
	targets, err := t.targets(ctx, network, address)
	if err != nil {
		return nil, err
	}
	for i, target := range targets {
		conn, failed := t.dialOne(ctx, target, len(targets)-i)
		if failed == nil {
			return conn, nil
		}
		err = failed
		if at, ok := errors.AsType[*proxy.Error](failed); !ok || at.Fault != proxy.FaultTarget || ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// dialOne waits for an equal share of the time that is left, if other addresses follow. The connection to the proxy itself isn't
// bounded by it: a proxy that can't be reached would look like an endpoint without a response.
func (t tunnel) dialOne(ctx context.Context, target string, left int) (net.Conn, error) {
	var patience time.Duration
	if end, ok := ctx.Deadline(); ok && left > 1 {
		patience = time.Until(end) / time.Duration(left)
	}
	if t.eager {
		return t.proxy.DialEager(ctx, target, patience)
	}
	return t.proxy.Dial(ctx, target, patience)
}

// targets returns what the proxy is asked to connect to: allowed addresses of the host, IPv4 first, since a proxy may lack IPv6;
// or the name, if the proxy resolves it.
func (t tunnel) targets(ctx context.Context, network, address string) ([]string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || t.proxy.Resolves(host) {
		return []string{address}, err
	}
	ips, err := t.dialer.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(ips, func(a, b netip.Addr) int { return a.Unmap().BitLen() - b.Unmap().BitLen() })
	var all []string
	var refused error
	for _, ip := range ips {
		target := net.JoinHostPort(ip.Unmap().WithZone("").String(), port) // a zone is an interface of this machine
		if err := t.dialer.Control(network, target, nil); err != nil {
			refused = err
		} else if len(all) < maxTargets {
			all = append(all, target)
		}
	}
	if len(all) == 0 {
		return nil, refused
	}
	return all, nil
}
