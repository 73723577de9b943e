package clients

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/providers"
)

// reaction is what a library said to a request.
type reaction string

const (
	accepted reaction = "accepted"
	refused  reaction = "refused"
)

// The requests that a library is asked about. Each is one that Holdfast has signed, or what became of it.
const (
	genuine     = "as signed"
	mutated     = "with a changed body"
	unsigned    = "without a signature"
	otherSecret = "signed with another secret"
	old         = "signed an hour ago"
	early       = "dated in an hour"
)

// behaviour is what a library says to each request; nil if it doesn't verify.
func (l library) behaviour(t *testing.T, p *providers.Provider) map[string]reaction {
	t.Helper()
	if !l.Verifies {
		return nil
	}
	eventType, id, now := p.SampleTypes()[0], uniqueID(), time.Now()
	signedAt := func(secret string, at time.Time) request {
		r := inside(t, sampleOf(t, p, eventType, id))
		require.NoError(t, p.Sign(r, secret, at))
		return outside(r)
	}
	requests := map[string]request{
		genuine:     signedAt(l.signing(), now),
		mutated:     l.changed(signedAt(l.signing(), now)),
		unsigned:    sampleOf(t, p, eventType, id),
		otherSecret: signedAt(another(l.signing()), now),
	}
	if signsTime(p) {
		requests[old], requests[early] = signedAt(l.signing(), now.Add(-time.Hour)), signedAt(l.signing(), now.Add(time.Hour))
	}
	said := map[string]reaction{}
	for name, r := range requests {
		said[name] = accepted
		if l.verify(t, r) != nil {
			said[name] = refused
		}
	}
	return said
}

// changes lists what another version says otherwise.
func changes(before, after map[string]reaction) (all []string) {
	for name, said := range maps.All(after) {
		if before[name] != said {
			all = append(all, "newly "+string(said)+": a request "+name)
		}
	}
	return all
}

// major is the first number of a version, and the second of a version 0.
func major(version string) string {
	first, rest, _ := strings.Cut(version, ".")
	if first != "0" {
		return first
	}
	second, _, _ := strings.Cut(rest, ".")
	return "0." + second
}
