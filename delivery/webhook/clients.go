package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"holdfast/delivery"
)

// maxOwnClients is how many clients with certificates of their own are kept.
const maxOwnClients = 256

// clients are those of all destinations: one that most share, and one for each set of files with certificates.
type clients struct {
	dialer *net.Dialer
	shared *http.Client
	mu     sync.Mutex
	own    *lru.Cache[files, ownClient]
}

// files are in PEM: a certificate authority, and what the client shows; "" where there is none.
type files struct{ ca, certificate, key string }

// ownClient is one made of files as they were.
type ownClient struct {
	http *http.Client
	from [3]stamp
}

// stamp tells two states of a file apart.
type stamp struct {
	changed time.Time
	size    int64
}

func newClients(dialer *net.Dialer) *clients {
	own, err := lru.NewWithEvict(maxOwnClients, func(_ files, old ownClient) { old.http.CloseIdleConnections() })
	if err != nil {
		panic(err) // only a size below 1 is an error
	}
	return &clients{dialer: dialer, shared: newHTTP(dialer, nil), own: own}
}

// of gives the client of a destination. Files are read again when they have changed. An error names no file.
func (c *clients) of(h *delivery.HTTP) (*http.Client, error) {
	f := files{h.CA, h.Certificate, h.Key}
	if f == (files{}) {
		return c.shared, nil
	}
	from, err := f.stamps()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if made, ok := c.own.Get(f); ok && made.from == from {
		return made.http, nil
	}
	config, err := f.config()
	if err != nil {
		return nil, err
	}
	c.own.Remove(f)
	made := ownClient{http: newHTTP(c.dialer, config), from: from}
	c.own.Add(f, made)
	return made.http, nil
}

func (c *clients) close() {
	c.shared.CloseIdleConnections()
	c.own.Purge()
}

func (f files) stamps() (all [3]stamp, err error) {
	for i, name := range []string{f.ca, f.certificate, f.key} {
		if name == "" {
			continue
		}
		info, err := os.Stat(name)
		if err != nil {
			return all, errors.New("a file of its certificates cannot be read")
		}
		all[i] = stamp{info.ModTime(), info.Size()}
	}
	return all, nil
}

func (f files) config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if f.ca != "" {
		pem, err := os.ReadFile(f.ca)
		config.RootCAs = x509.NewCertPool()
		if err != nil || !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, errors.New("the file of its certificate authority holds no certificate")
		}
	}
	if f.certificate != "" || f.key != "" {
		pair, err := tls.LoadX509KeyPair(f.certificate, f.key)
		if err != nil {
			return nil, errors.New("the files of the client's certificate and key do not fit each other")
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}
