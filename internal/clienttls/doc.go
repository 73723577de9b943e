// Package clienttls makes the TLS configuration of a client from certificates and a key in PEM.
//
// It must not depend on where these are stored. No error contains anything of them.
package clienttls
