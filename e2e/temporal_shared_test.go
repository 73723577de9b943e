package e2e

import (
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/stacktest"
)

// perServer is the number of namespaces after which tests get another Temporal. The server writes the metrics of each namespace every
// second, and keeps them: after eighty it needed half a core and 1.6 GB for three tests. To start one takes 0.6 s of CPU.
const perServer = 16

// sharedTemporal is the server that most tests use.
type sharedTemporal struct {
	mu     sync.Mutex
	latest *hired
}

// hired is a server with the number of tests that have used it, and of those that still do.
type hired struct {
	temporalServer
	namespaces, using int
}

// use returns a server that runs until the test ends.
func (s *sharedTemporal) use(t *testing.T) temporalServer {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latest.namespaces == perServer && os.Getenv(serverVariable) == "" {
		require.NoError(t, s.renew())
	}
	server := s.latest
	server.namespaces++
	server.using++
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		server.using--
		s.stopUnused(server)
	})
	return server
}

// renew starts the next server. The previous one ends with its last test.
func (s *sharedTemporal) renew() error {
	next, err := startTemporal()
	if err != nil {
		return err
	}
	previous := s.latest
	s.latest = &hired{temporalServer: next}
	if previous != nil {
		s.stopUnused(previous)
	}
	return nil
}

func (s *sharedTemporal) stopUnused(server *hired) {
	if dev, ok := server.temporalServer.(*stacktest.Temporal); ok && server != s.latest && server.using == 0 {
		_ = dev.Stop() // at the latest it is killed when all tests have ended
	}
}
