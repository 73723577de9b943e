package config

import (
	"sync"
	"time"
)

// RememberSecrets caches the results of Config.Secrets for a time.
func RememberSecrets(read func(name string) []string, lasting time.Duration) func(name string) []string {
	type reading struct {
		secrets []string
		at      time.Time
	}
	var readings sync.Map // by name; definitions bound their number
	return func(name string) []string {
		now := time.Now()
		if last, ok := readings.Load(name); ok {
			if r := last.(reading); now.Sub(r.at) < lasting { //nolint:forcetypeassert // nothing else is stored
				return r.secrets
			}
		}
		r := reading{secrets: read(name), at: now}
		readings.Store(name, r)
		return r.secrets
	}
}
