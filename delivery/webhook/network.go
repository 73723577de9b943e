package webhook

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"holdfast/delivery"
	"holdfast/internal/proxy"
)

// Network reaches destinations that aren't HTTP endpoints, under the same rules: the guard, the proxies, and the folder of
// certificates. It is safe for concurrent use, and holds no connections.
type Network struct {
	dialer *net.Dialer
	folder folder
	routes Routes
}

// NewNetwork returns the network of a process.
func NewNetwork(o SenderOptions) *Network {
	dialer := newDialer(guard{allowed: o.AllowedNetworks})
	dialer.Timeout = 0 // an attempt may connect until it ends
	return &Network{dialer: dialer, folder: folder(o.Certificates), routes: o.Routes}
}

// Way is how one destination is reached.
type Way struct {
	// Proxy is the name of the proxy; "" if none.
	Proxy string
	// TLS has the destination's own authority and certificate; nil if it has none.
	TLS *tls.Config
	// ID identifies the proxy and the state of the certificate files: with another one, connect again.
	ID [sha256.Size]byte
	// Dial connects to host:port. Servers that send something first are reached through proxies as well.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Way returns how a destination is reached, or the result of an attempt at one that can't be used as configured.
func (n *Network) Way(h *delivery.HTTP) (Way, *delivery.Result) {
	via, ok := n.routes.of(h.Proxy)
	if !ok {
		return Way{}, misconfigured(codeNoProxy, "this worker has no proxy called "+h.Proxy+": add it to HOLDFAST_PROXIES")
	}
	w := Way{Proxy: nameOf(via), Dial: n.dialer.DialContext}
	if via != nil {
		w.Dial = proxy.Tunnel{Dialer: n.dialer, Proxy: via, Eager: true}.DialContext
	}
	t := trust{h.CA, h.Certificate, h.Key}
	from, err := t.stamps(n.folder)
	if err == nil && t != (trust{}) {
		w.TLS, err = t.config(n.folder)
	}
	if err != nil { // the texts name the fields of an endpoint
		return w, misconfigured("tls_files", strings.ReplaceAll(err.Error(), "http.", ""))
	}
	w.ID = sha256.Sum256(fmt.Append(nil, t.id(w.Proxy), from))
	return w, nil
}

// Failure returns the result of an attempt that couldn't connect, or lost its connection. Its text has no address.
func Failure(err error) delivery.Result {
	e := failure(err)
	result := delivery.Result{Kind: delivery.Bad, Code: e.Code, Error: e.Reason, Reach: reachOf(e)}
	if via, ok := errors.AsType[*proxy.Error](err); ok {
		result.Proxy = via.Proxy
	}
	switch e.Code {
	case codeStopped, delivery.CodeProxy:
		result.Kind = delivery.Ours
	case codeRefused:
		result.Kind = delivery.Blocked
	}
	return result
}

// reachOf says whether a failed connection has reached the host.
func reachOf(e *Error) delivery.Reach {
	switch {
	case errors.Is(e, syscall.ECONNREFUSED), e.Code == codeTLS:
		return delivery.Reached
	case e.Code == codeDNS, e.Code == codeTimeout, errors.Is(e, syscall.EHOSTUNREACH), errors.Is(e, syscall.ENETUNREACH):
		return delivery.Unreached
	}
	return delivery.ReachUnknown
}
