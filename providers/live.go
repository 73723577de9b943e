package providers

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"sync/atomic"
	"time"

	"holdfast/providers/auth"
	"holdfast/providers/auth/jws"
	"holdfast/providers/definition"
	"holdfast/providers/receiving"
	"holdfast/providers/recovery"
)

// UnreadableSecret is in place of secrets that can't be read at the moment.
const UnreadableSecret = auth.Unreadable

// Live is the catalogue of a running process: Reload replaces it as a whole. A caller that holds a Provider keeps it, so that
// requests in flight aren't affected. It is safe for concurrent use.
type Live struct {
	dir     string
	secrets auth.Secrets
	accept  func(*Catalogue) error
	// certificates and keySets are set before the first request.
	certificates auth.Certificates
	keySets      auth.KeySets
	// rate applies to providers whose definition has none.
	rate    *receiving.Rate
	current atomic.Pointer[Catalogue]
	loading atomic.Pointer[Loading]
}

// Loading shows which definitions were loaded, and whether the last reload was rejected.
type Loading struct {
	// At is when the current definitions were loaded.
	At time.Time
	// Added, Changed and Removed are the names that the last reload has changed; empty after a start.
	Added, Changed, Removed []string
	// Rejected is why the last reload was rejected, at RejectedAt; nil if it wasn't.
	Rejected   error
	RejectedAt time.Time
}

// Loading returns the result of the last reload.
func (l *Live) Loading() Loading { return *l.loading.Load() }

// replaced compares a catalogue with its predecessor.
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

// LoadLive loads the built-in definitions and the ones in the folder dir ("" for none), with secrets, and with a rate for those
// that have none (nil for no rate). A catalogue for which accept returns an error isn't loaded, now or later; nil accepts
// everything. A failing sample doesn't prevent a start, because that would stop all other providers.
func LoadLive(dir string, s auth.Secrets, rate *receiving.Rate, accept func(*Catalogue) error) (*Live, error) {
	l := &Live{dir: dir, secrets: s, rate: rate, accept: accept}
	next, err := l.load()
	if err != nil {
		return nil, err
	}
	l.current.Store(next)
	l.loading.Store(&Loading{At: time.Now()})
	return l, nil
}

// Reload reads all definitions again. If a file has an error, or check rejects the next catalogue, the current one stays; the
// error joins a *definition.Error for each error.
func (l *Live) Reload(check func(next, current *Catalogue) error) error {
	next, err := l.load()
	if err == nil {
		err = check(next, l.Catalogue())
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
	return next.WithSecrets(l.secrets).WithCertificates(l.certificates).WithKeySets(l.keySets).WithRate(l.rate), nil
}

// Path returns the path of the file of a definition that isn't built in; "" for others.
func (l *Live) Path(p *Provider) string {
	if p.Origin() == definition.OriginBuiltIn {
		return ""
	}
	return filepath.Join(l.dir, p.File())
}

// Source returns the file of a definition that isn't built in, as it is now: it may be newer than what was loaded.
func (l *Live) Source(p *Provider) ([]byte, error) {
	text, err := os.ReadFile(l.Path(p))
	if err != nil {
		return nil, fmt.Errorf("read definition: %w", err)
	}
	return text, nil
}

// Draft compiles a definition that isn't built in with another text in the place of its file. It has no secrets, and only the
// caller uses it. The error joins a *definition.Error for each error.
func (l *Live) Draft(p *Provider, text []byte) (*Provider, error) {
	all, err := builtInFiles()
	if err != nil {
		return nil, err
	}
	files, err := all.Under(drafted{os.DirFS(l.dir), p.File(), text})
	var own []error
	for _, e := range definition.Errors(err) {
		if e.File == p.File() { // an unreadable file of another definition matters only if this one extends it
			own = append(own, e)
		}
	}
	if own != nil {
		return nil, errors.Join(own...)
	}
	f, ok := files[p.Name()]
	if !ok || f.Origin == definition.OriginBuiltIn || f.Name != p.File() {
		return nil, &definition.Error{File: p.File(), Reason: "was removed or can't be read: restore the file, then try again"}
	}
	return compileUnnamed(files, f) // no metric counts its requests, and its samples may be slow
}

// drafted is a folder in which one file has another text.
type drafted struct {
	fs.FS

	name string
	text []byte
}

// ReadFile implements fs.ReadFileFS.
func (d drafted) ReadFile(name string) ([]byte, error) {
	if name == d.name {
		return d.text, nil
	}
	return fs.ReadFile(d.FS, name)
}

// Dir returns the folder of definitions that aren't built in; "" for none.
func (l *Live) Dir() string { return l.dir }

// SetCertificates sets how certificates are fetched, for this catalogue and all later ones. Call it once, before the first
// request.
func (l *Live) SetCertificates(get auth.Certificates) {
	l.certificates = get
	l.current.Store(l.Catalogue().WithCertificates(get))
}

// SetKeySets sets how published keys are found, for this catalogue and all later ones. Call it once, before the first request.
func (l *Live) SetKeySets(get auth.KeySets) {
	l.keySets = get
	l.current.Store(l.Catalogue().WithKeySets(get))
}

// KeySets calls Catalogue.KeySets on the current catalogue.
func (l *Live) KeySets() []jws.Set { return l.Catalogue().KeySets() }

// Catalogue returns the current catalogue.
func (l *Live) Catalogue() *Catalogue { return l.current.Load() }

// Lists calls Catalogue.Lists on the current catalogue.
func (l *Live) Lists() map[string]*recovery.List { return l.Catalogue().Lists() }

// Lookup calls Catalogue.Lookup on the current catalogue.
func (l *Live) Lookup(name string) (*Provider, bool) { return l.Catalogue().Lookup(name) }

// ByPath calls Catalogue.ByPath on the current catalogue.
func (l *Live) ByPath(path string) (*Provider, map[string]string, bool) {
	return l.Catalogue().ByPath(path)
}
