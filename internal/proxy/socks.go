package proxy

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"strconv"
	"syscall"
)

// The bytes of SOCKS5 (RFC 1928) and of its method with a password (RFC 1929).
const (
	socksVersion    = 5
	socksPassword   = 2
	socksNoMethod   = 0xff
	socksConnect    = 1
	socksIPv4       = 1
	socksName       = 3
	socksIPv6       = 4
	passwordVersion = 1
)

// greet agrees on a method with the proxy, and logs in.
func (p *Proxy) greet(conn net.Conn) *Error {
	methods := []byte{socksVersion, 1, 0}
	if p.user != "" {
		methods = []byte{socksVersion, 2, 0, socksPassword}
	}
	var chosen [2]byte
	if failed := p.exchange(conn, methods, chosen[:]); failed != nil {
		return failed
	}
	switch {
	case chosen[0] != socksVersion:
		return p.fault("it doesn't speak SOCKS5")
	case chosen[1] == 0:
		return nil
	case chosen[1] == socksPassword && p.user != "":
		return p.logIn(conn)
	case chosen[1] == socksNoMethod && p.user == "":
		return p.fault("it asks for a user and a password: put them into its URL in HOLDFAST_PROXIES")
	}
	return p.fault("it accepts neither a password nor none")
}

func (p *Proxy) logIn(conn net.Conn) *Error {
	request := append([]byte{passwordVersion, byte(len(p.user))}, p.user...)
	request = append(append(request, byte(len(p.password))), p.password...)
	var answer [2]byte
	if failed := p.exchange(conn, request, answer[:]); failed != nil {
		return failed
	}
	if answer[1] != 0 {
		return p.fault("it refuses the user or the password in HOLDFAST_PROXIES")
	}
	return nil
}

func (p *Proxy) connectSOCKS(conn net.Conn, target string) *Error {
	address, ok := socksAddress(target)
	if !ok {
		return p.refusal("the host is longer than SOCKS5 allows")
	}
	var answer [4]byte
	if failed := p.exchange(conn, append([]byte{socksVersion, socksConnect, 0}, address...), answer[:]); failed != nil {
		return failed
	}
	if answer[0] != socksVersion {
		return p.fault("it doesn't speak SOCKS5")
	}
	if failed := p.byReply(answer[1]); failed != nil {
		return failed
	}
	return p.skipBound(conn, answer[3])
}

// skipBound reads the address from which the proxy connects.
func (p *Proxy) skipBound(conn net.Conn, kind byte) *Error {
	var length int
	switch kind {
	case socksIPv4:
		length = net.IPv4len
	case socksIPv6:
		length = net.IPv6len
	case socksName:
		var n [1]byte
		if _, err := io.ReadFull(conn, n[:]); err != nil {
			return p.broken(err)
		}
		length = int(n[0])
	default:
		return p.fault("it doesn't speak SOCKS5")
	}
	if _, err := io.ReadFull(conn, make([]byte, length+2)); err != nil { // and the port
		return p.broken(err)
	}
	return nil
}

// socksAddress returns a target as SOCKS5 writes it: kind, address, port.
func socksAddress(target string) ([]byte, bool) {
	host, portText, err := net.SplitHostPort(target)
	port, portErr := strconv.ParseUint(portText, 10, 16)
	if err != nil || portErr != nil || len(host) > maxCredential {
		return nil, false
	}
	var address []byte
	switch ip, err := netip.ParseAddr(host); {
	case err != nil:
		address = append([]byte{socksName, byte(len(host))}, host...)
	case ip.Unmap().Is4():
		address = append([]byte{socksIPv4}, ip.Unmap().AsSlice()...)
	default:
		address = append([]byte{socksIPv6}, ip.AsSlice()...)
	}
	return binary.BigEndian.AppendUint16(address, uint16(port)), true
}

// byReply returns the error of a reply to a request; nil for a success.
func (p *Proxy) byReply(code byte) *Error {
	switch code {
	case 0:
		return nil
	case 2:
		return p.refusal("its rules refuse to connect to this endpoint: allow its address and port there")
	case 3:
		return p.unreachable("it has no route to the endpoint's network", syscall.ENETUNREACH)
	case 4:
		return p.unreachable("it has no route to the endpoint's host", syscall.EHOSTUNREACH)
	case 5:
		return p.unreachable("connection refused: nothing listens at the endpoint's address and port", syscall.ECONNREFUSED)
	case 6:
		return p.unreachable("it got no response from the endpoint's host", context.DeadlineExceeded)
	case 7:
		return p.refusal("it doesn't connect to other servers (reply 7)")
	case 8:
		return p.unreachable("it can't connect to addresses of this kind (reply 8)", nil)
	}
	return p.unreachable("it couldn't connect to the endpoint (reply "+strconv.Itoa(int(code))+")", nil)
}

// exchange sends a message and reads an answer of known length.
func (p *Proxy) exchange(conn net.Conn, message, answer []byte) *Error {
	_, err := conn.Write(message)
	if err == nil {
		_, err = io.ReadFull(conn, answer)
	}
	if err != nil {
		return p.broken(err)
	}
	return nil
}
