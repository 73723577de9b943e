package queue

import (
	"time"

	"holdfast/delivery"
)

// CloseIdleAfter replaces the time after which an idle connection is closed.
func (s *Sender) CloseIdleAfter(d time.Duration) { s.links.idle = d }

// Open returns how many connections there are.
func (s *Sender) Open() int {
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	return len(s.links.byID)
}

// Unconfirmed returns how many records the clients of Kafka keep, to send them or to learn what became of them.
func (s *Sender) Unconfirmed() (n int64) {
	s.links.mu.Lock()
	defer s.links.mu.Unlock()
	for _, l := range s.links.byID {
		if k, ok := l.client.(*kafkaClient); ok {
			n += k.client.BufferedProduceRecords()
		}
	}
	return n
}

// SecretOf returns the secret that a target's connection has.
func SecretOf(t delivery.Target) string { return secretOf(t) }
