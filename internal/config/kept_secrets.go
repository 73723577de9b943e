package config

import (
	"log/slog"
	"sync"
	"time"
)

// keepFor is how long the last secret of a file that can't be read any more stays valid: longer than it takes to write a file
// again or to mount it again.
const keepFor = time.Minute

// KeptSecrets caches the secrets of a configuration, and keeps a file's secrets that became empty, missing or unreadable for
// keepFor. A file that can't be read from the start has none to keep. A file with other secrets replaces them at once. It is safe
// for concurrent use.
type KeptSecrets struct {
	read    func(name string) ([]string, error)
	file    func(name string) string
	lasting time.Duration
	// instead is the secret of a file that can't be read, and from which none is kept.
	instead string
	names   sync.Map // of *keptSecret; definitions bound their number
}

// keptSecret is the last reading of a name.
type keptSecret struct {
	mu      sync.Mutex
	at      time.Time
	good    []string
	failed  time.Time // since when the file can't be read; zero if it can
	expired bool
}

// NewKeptSecrets caches readings for a time. The secret of a file that can't be read is instead, after keepFor if it once could
// be.
func NewKeptSecrets(c Config, lasting time.Duration, instead string) *KeptSecrets {
	file := func(name string) string { return c.environ()[name+fileSuffix] }
	return &KeptSecrets{read: c.readSecrets, file: file, lasting: lasting, instead: instead}
}

// Secrets returns what Config.Secrets does, or what is kept.
func (k *KeptSecrets) Secrets(name string) []string {
	kept, _ := k.names.LoadOrStore(name, &keptSecret{})
	s := kept.(*keptSecret) //nolint:forcetypeassert // nothing else is stored
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); s.at.IsZero() || now.Sub(s.at) >= k.lasting {
		s.at = now
		k.refresh(name, s)
	}
	if s.expired {
		return []string{k.instead}
	}
	return s.good
}

func (k *KeptSecrets) refresh(name string, s *keptSecret) {
	secrets, err := k.read(name)
	switch {
	case err == nil && !s.failed.IsZero():
		slog.Info("secret.read_again", "variable", name+fileSuffix, "file", k.file(name))
		fallthrough
	case err == nil:
		s.good, s.failed, s.expired = secrets, time.Time{}, false
	case s.failed.IsZero():
		s.failed, s.expired = s.at, len(s.good) == 0
		slog.Error("secret.unreadable", "variable", name+fileSuffix, "file", k.file(name), "error", err.Error())
	case !s.expired && s.at.Sub(s.failed) >= keepFor:
		s.expired = true
		slog.Error("secret.expired", "variable", name+fileSuffix, "file", k.file(name), "error", err.Error())
	}
}

// Files reads the secrets of these names that come from files, and reports for each file whether it can't be read.
func (k *KeptSecrets) Files(names []string) (unreadable map[string]bool) {
	unreadable = map[string]bool{}
	for _, name := range names {
		file := k.file(name)
		if file == "" {
			continue
		}
		k.Secrets(name)
		kept, _ := k.names.Load(name)
		s := kept.(*keptSecret) //nolint:forcetypeassert // as above
		s.mu.Lock()
		unreadable[file] = unreadable[file] || !s.failed.IsZero()
		s.mu.Unlock()
	}
	return unreadable
}
