package providers

import (
	"bytes"
	"reflect"
	"sync/atomic"
	"time"

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
	// rate is that of providers whose definition says nothing of one.
	rate    *Rate
	current atomic.Pointer[Catalogue]
	loading atomic.Pointer[Loading]
}

// Loading says which definitions were loaded, and whether the last reload was rejected.
type Loading struct {
	// At is when the current definitions were loaded.
	At time.Time
	// Added, Changed and Removed are the names that the last reload has changed; none after a start.
	Added, Changed, Removed []string
	// Rejected is why the last reload was rejected, at RejectedAt; nil if it wasn't.
	Rejected   error
	RejectedAt time.Time
}

// Loading is what the last reload came to.
func (l *Live) Loading() Loading { return *l.loading.Load() }

// replaced compares a catalogue with the one that it takes the place of.
func replaced(next, before *Catalogue) *Loading {
	l := &Loading{At: time.Now()}
	for _, name := range next.Names() {
		is := next.providers[name].file
		switch was, ok := before.providers[name]; {
		case !ok:
			l.Added = append(l.Added, name)
		case !bytes.Equal(is.Text, was.file.Text), !reflect.DeepEqual(is.Tree, was.file.Tree):
			l.Changed = append(l.Changed, name)
		}
	}
	for _, name := range before.Names() {
		if _, ok := next.providers[name]; !ok {
			l.Removed = append(l.Removed, name)
		}
	}
	return l
}

// LoadLive loads the built-in definitions and those of the folder dir ("" is no folder), with secrets, and with a rate for those
// that say nothing of one (nil is no rate). What accept has an error
// for is not loaded, now or later; nil accepts everything. A sample that fails is no reason not to start: the senders of all
// other providers would find nobody.
func LoadLive(dir string, s auth.Secrets, rate *Rate, accept func(*Catalogue) error) (*Live, error) {
	l := &Live{dir: dir, secrets: s, rate: rate, accept: accept}
	next, err := l.load()
	if err != nil {
		return nil, err
	}
	l.current.Store(next)
	l.loading.Store(&Loading{At: time.Now()})
	return l, nil
}

// Reload reads all definitions anew. One mistake in one file, or what judge has against the next in place of the current
// catalogue, and the catalogue stays as it was; the error joins a *definition.Error for each mistake.
func (l *Live) Reload(judge func(next, current *Catalogue) error) error {
	next, err := l.load()
	if err == nil {
		err = judge(next, l.Catalogue())
	}
	if err != nil {
		rejected := l.Loading()
		rejected.Rejected, rejected.RejectedAt = err, time.Now()
		l.loading.Store(&rejected)
		return err
	}
	loading := replaced(next, l.Catalogue())
	l.current.Store(next)
	l.loading.Store(loading)
	return nil
}

func (l *Live) load() (*Catalogue, error) {
	next, err := Load(l.dir)
	if err == nil && l.accept != nil {
		err = l.accept(next)
	}
	if err != nil {
		return nil, err
	}
	return next.WithSecrets(l.secrets).WithCertificates(l.certificates).WithRate(l.rate), nil
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
