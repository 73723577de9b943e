package providers

import "sync/atomic"

// Live is the catalogue of a running process: Reload replaces it as a whole. Whoever holds a Provider goes on with the one
// that it has, so that a request that is under way is not disturbed. It is safe for concurrent use.
type Live struct {
	dir     string
	secrets Secrets
	current atomic.Pointer[Catalogue]
}

// LoadLive loads the built-in definitions and those of the folder dir ("" is no folder), with secrets.
func LoadLive(dir string, s Secrets) (*Live, error) {
	l := &Live{dir: dir, secrets: s}
	if err := l.Reload(); err != nil {
		return nil, err
	}
	return l, nil
}

// Reload reads all definitions anew. One mistake in one file, and the catalogue stays as it was; the error is that of Load.
func (l *Live) Reload() error {
	next, err := Load(l.dir)
	if err != nil {
		return err
	}
	l.current.Store(next.WithSecrets(l.secrets))
	return nil
}

// Catalogue is the one that is valid at this moment.
func (l *Live) Catalogue() *Catalogue { return l.current.Load() }

// Lookup is Catalogue.Lookup at this moment.
func (l *Live) Lookup(name string) (*Provider, bool) { return l.Catalogue().Lookup(name) }

// ByPath is Catalogue.ByPath at this moment.
func (l *Live) ByPath(path string) (*Provider, map[string]string, bool) {
	return l.Catalogue().ByPath(path)
}
