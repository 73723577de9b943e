package proxy

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"time"
)

// Limits of a connection through a proxy.
const (
	// tunnelTimeout bounds one whose caller has set no deadline.
	tunnelTimeout = 15 * time.Second
	// maxTargets bounds the addresses of a host that are tried.
	maxTargets = 3
)

// Tunnel connects through a proxy. It resolves names and checks the addresses here, as for a direct connection, and the proxy
// gets the checked address: it can't be made to resolve a name to another one. Only hosts that the proxy is configured to resolve
// go there by name.
type Tunnel struct {
	// Dialer has the resolver, and decides with Control which addresses are allowed; nil allows all.
	Dialer *net.Dialer
	Proxy  *Proxy
	// Eager: the target may send something before it is asked.
	Eager bool
}

// DialContext connects to host:port. Errors are those of Proxy.Dial, of the resolver, or of Control.
func (t Tunnel) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
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
		if at, ok := errors.AsType[*Error](failed); !ok || at.Fault != FaultTarget || ctx.Err() != nil {
			break
		}
	}
	return nil, err
}

// dialOne waits for an equal share of the time that is left, if other addresses follow. The connection to the proxy itself isn't
// bounded by it: a proxy that can't be reached would look like an endpoint without a response.
func (t Tunnel) dialOne(ctx context.Context, target string, left int) (net.Conn, error) {
	var patience time.Duration
	if end, ok := ctx.Deadline(); ok && left > 1 {
		patience = time.Until(end) / time.Duration(left)
	}
	if t.Eager {
		return t.Proxy.DialEager(ctx, target, patience)
	}
	return t.Proxy.Dial(ctx, target, patience)
}

// targets returns what the proxy is asked to connect to: allowed addresses of the host, IPv4 first, since a proxy may lack IPv6;
// or the name, if the proxy resolves it.
func (t Tunnel) targets(ctx context.Context, network, address string) ([]string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil || t.Proxy.Resolves(host) {
		return []string{address}, err
	}
	ips, err := t.Dialer.Resolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(ips, func(a, b netip.Addr) int { return a.Unmap().BitLen() - b.Unmap().BitLen() })
	var all []string
	var refused error
	for _, ip := range ips {
		target := net.JoinHostPort(ip.Unmap().WithZone("").String(), port) // a zone is an interface of this machine
		if err := t.allow(network, target); err != nil {
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

func (t Tunnel) allow(network, target string) error {
	if t.Dialer.Control == nil {
		return nil
	}
	return t.Dialer.Control(network, target, nil)
}
