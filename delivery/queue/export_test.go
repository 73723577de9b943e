package queue

import "time"

// CloseIdleAfter replaces the time after which an idle connection is closed.
func (s *Sender) CloseIdleAfter(d time.Duration) { s.links.idle = d }

// Open returns how many connections there are.
func (s *Sender) Open() int {
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	return len(s.links.byID)
}
