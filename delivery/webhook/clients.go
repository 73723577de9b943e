package webhook

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"holdfast/delivery"
)

const maxOwnClients = 256

// clients holds a shared HTTP client, and one for each set of certificates.
type clients struct {
	dialer *net.Dialer
	folder folder
	shared *http.Client
	mu     sync.Mutex
	own    *lru.Cache[[sha256.Size]byte, ownClient]
}

// ownClient was built from files with these stamps.
type ownClient struct {
	http *http.Client
	from [3]stamp
}

func newClients(dialer *net.Dialer, certificates string) *clients {
	own, err := lru.NewWithEvict(maxOwnClients, func(_ [sha256.Size]byte, old ownClient) { old.http.CloseIdleConnections() })
	if err != nil {
		panic(err) // only an invalid size is an error
	}
	return &clients{dialer: dialer, folder: folder(certificates), shared: newHTTP(dialer, nil), own: own}
}

// of returns the client of a destination. It reads certificate files again when they change, without blocking other attempts.
// Errors name no file.
func (c *clients) of(h *delivery.HTTP) (*http.Client, error) {
	t := trust{h.CA, h.Certificate, h.Key}
	if t == (trust{}) {
		return c.shared, nil
	}
	from, err := t.stamps(c.folder)
	if err != nil {
		return nil, err
	}
	id := t.id()
	if made, ok := c.made(id); ok && made.from == from {
		return made.http, nil
	}
	config, err := t.config(c.folder)
	if err != nil {
		return nil, err
	}
	return c.keep(id, from, config), nil
}

func (c *clients) made(id [sha256.Size]byte) (ownClient, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.own.Get(id)
}

// keep adds a client, unless a concurrent attempt has built the same one.
func (c *clients) keep(id [sha256.Size]byte, from [3]stamp, config *tls.Config) *http.Client {
	c.mu.Lock()
	defer c.mu.Unlock()
	if made, ok := c.own.Get(id); ok && made.from == from {
		return made.http
	}
	c.own.Remove(id)
	made := ownClient{http: newHTTP(c.dialer, config), from: from}
	c.own.Add(id, made)
	return made.http
}

func (c *clients) close() {
	c.shared.CloseIdleConnections()
	c.own.Purge()
}

var (
	errFiles = errors.New("can't read a certificate file: it must be below HOLDFAST_DELIVERIES_CERTIFICATES " +
		"and have at most 1 MiB")
	errAuthority = errors.New("the certificate authority contains no certificate")
	errPair      = errors.New("the client's certificate and key don't match")
)
