package console_test

import (
	"context"
	"sync"
	"time"

	"holdfast/event"
	"holdfast/event/oversight"
)

const (
	waiting = time.Minute
	tick    = 5 * time.Millisecond
)

// sessions are kept in memory and fail on demand. Package persistence tests those of PostgreSQL.
type sessions struct {
	mu    sync.Mutex
	open  map[string]oversight.Session
	audit []oversight.AuditEntry
	err   error
}

func (s *sessions) OpenSession(_ context.Context, one oversight.Session, by oversight.Actor) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	if s.open == nil {
		s.open = map[string]oversight.Session{}
	}
	s.open[string(one.ID)] = one
	s.audit = append(s.audit, by.Did(oversight.AuditLogin, "console", nil))
	return nil
}

func (s *sessions) Session(_ context.Context, id []byte) (oversight.Session, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, ok := s.open[string(id)]
	if s.err == nil && !ok {
		return one, event.ErrNotFound
	}
	return one, s.err
}

func (s *sessions) CloseSession(_ context.Context, id []byte, by oversight.Actor) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err
	}
	delete(s.open, string(id))
	s.audit = append(s.audit, by.Did(oversight.AuditLogout, "console", nil))
	return nil
}

func (s *sessions) Audit(_ context.Context, e oversight.AuditEntry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.audit = append(s.audit, e)
	return nil
}

func (s *sessions) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// audited returns the written actions in order.
func (s *sessions) audited() (actions []oversight.AuditAction) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.audit {
		actions = append(actions, e.Action)
	}
	return actions
}
