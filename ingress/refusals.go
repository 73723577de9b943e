package ingress

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"holdfast/event/oversight"
	"holdfast/providers/auth/denial"
)

const (
	// maxPerProvider and maxInTotal bound how many refused requests are kept, at less than 2 KiB each.
	maxPerProvider = 20
	maxInTotal     = 500
	// minutes is the window of the counts.
	minutes = 60
)

// Refusals keep the reasons of refused requests: counts of the last hour by provider and cause, and the latest requests without
// anything that their senders wrote. Providers and causes are our own words, so the memory is bounded. It is safe for
// concurrent use.
type Refusals struct {
	now func() time.Time

	mu        sync.Mutex
	providers map[string]*providerRefusals
	kept      int
}

type providerRefusals struct {
	minutes [minutes]refusalMinute
	last    []oversight.Refusal // oldest first
}

type refusalMinute struct {
	at     int64 // in minutes since 1970
	causes map[string]refusalCount
}

type refusalCount struct {
	count int64
	last  time.Time
}

// NewRefusals returns empty Refusals.
func NewRefusals() *Refusals {
	return &Refusals{now: time.Now, providers: map[string]*providerRefusals{}}
}

func (all *Refusals) count(provider, cause string, at time.Time) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.of(provider).minute(at).add(cause, at)
}

// keep stores one request and evicts the oldest if there are too many.
func (all *Refusals) keep(provider string, r oversight.Refusal) {
	all.mu.Lock()
	defer all.mu.Unlock()
	of := all.of(provider)
	switch {
	case len(of.last) >= maxPerProvider:
		of.dropOldest()
	case all.kept >= maxInTotal:
		all.oldest().dropOldest()
	default:
		all.kept++
	}
	of.last = append(of.last, r)
}

func (all *Refusals) of(provider string) *providerRefusals {
	of := all.providers[provider]
	if of == nil {
		of = &providerRefusals{}
		all.providers[provider] = of
	}
	return of
}

func (all *Refusals) oldest() (found *providerRefusals) {
	for _, of := range all.providers {
		if len(of.last) > 0 && (found == nil || of.last[0].At.Before(found.last[0].At)) {
			found = of
		}
	}
	return found
}

func (of *providerRefusals) dropOldest() {
	of.last = append(of.last[:0], of.last[1:]...)
}

// minute returns the minute of at, emptied if it still holds the one of an hour ago.
func (of *providerRefusals) minute(at time.Time) *refusalMinute {
	n := at.Unix() / 60
	m := &of.minutes[n%minutes]
	if m.at != n {
		*m = refusalMinute{at: n}
	}
	return m
}

func (m *refusalMinute) add(cause string, at time.Time) {
	if m.causes == nil {
		m.causes = map[string]refusalCount{}
	}
	m.causes[cause] = refusalCount{m.causes[cause].count + 1, at}
}

// Refusals returns the refusals of one provider, or with "" of all providers that have some, by name.
func (all *Refusals) Refusals(provider string) []oversight.ProviderRefusals {
	all.mu.Lock()
	defer all.mu.Unlock()
	found := []oversight.ProviderRefusals{}
	for _, name := range slices.Sorted(maps.Keys(all.providers)) {
		if provider != "" && provider != name {
			continue
		}
		if one := all.providers[name].sum(name, all.now()); one.Count > 0 || len(one.Last) > 0 {
			found = append(found, one)
		}
	}
	return found
}

func (of *providerRefusals) sum(name string, now time.Time) oversight.ProviderRefusals {
	sum := oversight.ProviderRefusals{Provider: name, Causes: []oversight.RefusalCause{}, Last: slices.Clone(of.last)}
	slices.Reverse(sum.Last)
	counts := map[string]refusalCount{}
	for i := range of.minutes {
		if m := &of.minutes[i]; now.Unix()/60-m.at < minutes {
			for cause, n := range m.causes {
				total := counts[cause]
				total.count += n.count
				if n.last.After(total.last) {
					total.last = n.last
				}
				counts[cause] = total
				sum.Count += n.count
			}
		}
	}
	for cause, n := range counts {
		what := causeOf(cause)
		sum.Causes = append(sum.Causes, oversight.RefusalCause{
			Cause: cause, Means: what.Means, Next: what.Next, Count: n.count, LastAt: n.last,
		})
	}
	slices.SortFunc(sum.Causes, func(a, b oversight.RefusalCause) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Cause, b.Cause))
	})
	return sum
}

// causeOf returns the explanation of a reason, which is an authentication reason or a code.
func causeOf(reason string) denial.Cause {
	if own, ok := causes[code(reason)]; ok {
		return own
	}
	return denial.Reason(reason).Cause()
}

// causes explains the codes of requests that were refused before or after authentication, also in docs/refusal-causes.md.
var causes = map[code]denial.Cause{
	codeMethodNotAllowed: {
		Means: "the request wasn't a POST",
		Next:  "nothing: it was a browser, a scanner or a probe; for probes there is GET /health",
	},
	codeNotFound: {
		Means: "the path isn't a webhook's",
		Next:  "nothing, or correct the path at the sender: see provider list",
	},
	codeUnknownProvider: {
		Means: "the path names a provider without a definition",
		Next:  "correct the path at the sender, or add the definition",
	},
	codeRateLimited: {
		Means: "there were more requests than a rate in the definition allows",
		Next:  "nothing if the sender retries; otherwise set a higher rate in the definition, such as `rate: {requests: 100, per: 1s}`",
	},
	codeTooLarge: {
		Means: "the body is larger than allowed",
		Next: "if the provider sent it, set `body_limit: 5242880` (5 MiB; 25 MiB at most) in the definition; without a secret the " +
			"limit is 256 KiB, and HOLDFAST_INGRESS_BODY_LIMIT lowers it where a definition has none",
	},
	codeEncoding: {
		Means: "the body was compressed",
		Next: "turn compression off at the sender, or at the proxy that compresses; if the provider compresses with gzip, add gzip " +
			"to the definition",
	},
	codeBadRequest: {
		Means: "the request wasn't well-formed HTTP, its end was ambiguous, or its gzip was damaged",
		Next:  "check the proxy in front, if there is one",
	},
	codeInvalid: {
		Means: "a condition under refuse in the definition is true for one of the events, the body is empty or not an object, or a " +
			"dispatcher's client sent a malformed one",
		Next: "correct what is sent, or the condition; empty and not_object in the definition accept such bodies; the response says " +
			"what is wrong",
	},
	codeEventType: {
		Means: "a published event violates its declared type, whose check is refuse",
		Next: "correct the publisher, or the type: `holdfast event-type show NAME`; the response names the type, the path and the " +
			"rule; with `check: warn` such events are accepted",
	},
	codeTimeout: {
		Means: "the request didn't arrive in time",
		Next:  "check the network; after 10 s (HOLDFAST_INGRESS_BODY_TIMEOUT=10s) a body must arrive at 64 KiB/s or more",
	},
	codeBodyMemory: {
		Means: "the memory for bodies was in use, or the client's quarter of it; the response asks the sender to retry",
		Next: "nothing if it passes; otherwise find out who sends so much, or set HOLDFAST_INGRESS_BODY_MEMORY=512MiB. If all " +
			"clients have the proxy's address, set HOLDFAST_INGRESS_TRUSTED_PROXIES=10.0.0.0/8 (the proxy's network)",
	},
	codeHeadersTooLarge: {
		Means: "the headers were larger than 16 KiB",
		Next:  "check what the proxy in front adds",
	},
}
