package config

import (
	"net"
	"net/netip"
)

// LocalURL returns the URL at which programs on this machine reach the ingress: every interface includes loopback.
func (i Ingress) LocalURL() string {
	host, port, err := net.SplitHostPort(i.Addr)
	if address, _ := netip.ParseAddr(host); err == nil && (host == "" || address.IsUnspecified()) {
		return "http://" + net.JoinHostPort("127.0.0.1", port)
	}
	return "http://" + i.Addr
}
