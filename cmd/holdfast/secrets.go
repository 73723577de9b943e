package main

import (
	"sync"
	"time"

	"holdfast/providers/auth"
)

// secretsFor is how long a secret that was read is taken for the current one: a forged request must not cost the reading of a
// file, and nobody who rotates a secret notices a second.
const secretsFor = time.Second

// rememberSecrets reads each secret again only after a time.
func rememberSecrets(read auth.Secrets, lasting time.Duration) auth.Secrets {
	type reading struct {
		secrets []string
		at      time.Time
	}
	var readings sync.Map // by name, of which there are as many as definitions name
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
