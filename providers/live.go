package providers

import (
	"sync/atomic"

	"holdfast/providers/auth"
)

// Live is the catalogue of a running process: Reload replaces it as a whole. Whoever holds a Provider goes on with the one
// that it has, so that a request that is under way is not disturbed. It is safe for concurrent use.
type Live struct {
	dir     string
	secrets auth.Secrets
	accept  func(*Catalogue) error
	// certificates is set before anything arrives.
	certificates auth.Certificates
	current      atomic.Pointer[Catalogue]
}

// LoadLive loads the built-in definitions and those of the folder dir ("" is no folder), with secrets. What accept has an error
// for is not loaded, now or later; nil accepts everything. A sample that fails is no reason not to start: the senders of all
// other providers would find nobody.
func LoadLive(dir string, s auth.Secrets, accept func(*Catalogue) error) (*Live, error) {
	l := &Live{dir: dir, secrets: s, accept: accept}
	next, err := l.load()
	if err != nil {
		return nil, err
	}
	l.current.Store(next)
	return l, nil
}

// Reload reads all definitions anew. One mistake in one file, or what judge has against the next in place of the current
// catalogue, and the catalogue stays as it was; the error joins a *definition.Error for each mistake.
func (l *Live) Reload(judge func(next, current *Catalogue) error) error {
	next, err := l.load()
	if err == nil {
		err = judge(next, l.Catalogue())
	}
	if err == nil {
		l.current.Store(next)
	}
	return err
}

func (l *Live) load() (*Catalogue, error) {
	next, err := Load(l.dir)
	if err == nil && l.accept != nil {
		err = l.accept(next)
	}
	if err != nil {
		return nil, err
	}
	return next.WithSecrets(l.secrets).WithCertificates(l.certificates), nil
}

// SetCertificates says what fetches certificates, for this catalogue and all that come after it. It is called once, before
// anything arrives.
func (l *Live) SetCertificates(get auth.Certificates) {
	l.certificates = get
	l.current.Store(l.Catalogue().WithCertificates(get))
}

// Catalogue is the one that is valid at this moment.
func (l *Live) Catalogue() *Catalogue { return l.current.Load() }

// Lookup is Catalogue.Lookup at this moment.
func (l *Live) Lookup(name string) (*Provider, bool) { return l.Catalogue().Lookup(name) }

// ByPath is Catalogue.ByPath at this moment.
func (l *Live) ByPath(path string) (*Provider, map[string]string, bool) {
	return l.Catalogue().ByPath(path)
}
