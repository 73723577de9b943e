// Package proxy connects through forward proxies: HTTP CONNECT, over TCP or TLS, and SOCKS5.
//
// Its caller decides which address to connect to, and whether that address is allowed. No error of a proxy contains an address or
// a credential.
package proxy
