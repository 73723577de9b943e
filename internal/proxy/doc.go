// Package proxy connects through forward proxies: HTTP CONNECT, over TCP or TLS, and SOCKS5.
//
// It is told which address to connect to, and must not decide whether that address is allowed. No error contains an address or a
// credential.
package proxy
