// Package gaps finds providers whose rules for entities find nothing where they are meant to.
package gaps

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/event/oversight"
	"holdfast/internal/lint"
	"holdfast/internal/word"
	"holdfast/operator/api"
	"holdfast/operator/console/frame"
	"holdfast/providers"
)

const (
	// countsFor is how long the same counts are returned.
	countsFor = 3 * time.Second
	// countTimeout is how long a page waits for them.
	countTimeout = 2 * time.Second
	// samplesTimeout bounds how long the samples of all own definitions may take. A page then shows what is known by then.
	samplesTimeout = 2 * time.Second
)

// Finder finds gaps. It keeps the last results, so that all pages show the same ones.
type Finder struct {
	// Definitions are the providers' definitions, and Mappings counts their events; nil leaves either out.
	Definitions *providers.Live
	Mappings    api.Mappings

	counted atomic.Pointer[counted]
	tested  atomic.Pointer[tested]
	// testing is locked while samples run.
	testing sync.Mutex
}

// counted are counts as of a time, by provider.
type counted struct {
	at  time.Time
	all map[string]oversight.MappedEvents
	err error
}

// tested are the rules of a catalogue that find nothing in the samples that they are for, by provider.
type tested struct {
	of    *providers.Catalogue
	found map[string][]lint.Finding
}

// Counts counts, by provider, in which events of the last day rules for entities found one. A page that is followed doesn't count
// each time.
func (f *Finder) Counts(ctx context.Context) (map[string]oversight.MappedEvents, error) {
	if f.Mappings == nil {
		return map[string]oversight.MappedEvents{}, nil
	}
	if last := f.counted.Load(); last != nil && time.Since(last.at) < countsFor {
		return last.all, last.err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), countTimeout) // the result, also an error, is for all pages
	defer cancel()
	all, err := f.Mappings.Mapped(ctx)
	now := &counted{at: time.Now(), all: make(map[string]oversight.MappedEvents, len(all)), err: err}
	for _, m := range all {
		now.all[m.Provider] = m
	}
	f.counted.Store(now)
	return now.all, err
}

// Unapplied returns the rules for entities that find none in the sample that they are for, by provider, of definitions that
// aren't built in. It runs their samples once for each reload, and returns nil while another page does.
func (f *Finder) Unapplied() map[string][]lint.Finding {
	if f.Definitions == nil {
		return nil
	}
	now := &tested{of: f.Definitions.Catalogue(), found: map[string][]lint.Finding{}}
	if last := f.tested.Load(); last != nil && last.of == now.of {
		return last.found
	}
	if !f.testing.TryLock() {
		return nil
	}
	defer f.testing.Unlock()
	until := time.Now().Add(samplesTimeout)
	for _, name := range now.of.OwnNames() {
		p, ok := now.of.Lookup(name)
		if left := time.Until(until); ok && left > 0 {
			if found := lint.Unapplied(p, left); len(found) > 0 {
				now.found[name] = found
			}
		}
	}
	f.tested.Store(now)
	return now.found
}

// Gap is a provider whose rules for entities find nothing where they are meant to.
type Gap struct {
	oversight.MappedEvents

	// Rules find nothing in the sample that they are for.
	Rules []string
}

// Text says what is wrong, for after the provider's name.
func (g Gap) Text() string {
	var parts []string
	if g.Unmapped > 0 {
		parts = append(parts, fmt.Sprintf("%s of %s of the last 24 hours changed no entity, though rules are meant for them",
			frame.Number(g.Unmapped), word.Count(g.Total(), "event", "events")))
	}
	if len(g.Rules) > 0 {
		ending := " finds nothing in the sample that it is for"
		if len(g.Rules) > 1 {
			ending = " find nothing in the samples that they are for"
		}
		parts = append(parts, strings.Join(g.Rules, ", ")+ending)
	}
	return strings.Join(parts, "; ")
}

// Find lists providers whose rules for entities are broken, at least in part, by name. Some events of built-in definitions are
// about no entity, so these, and others with their rules, are listed only if no event has changed any. What can't be read is left
// out: the page of the provider says so.
func (f *Finder) Find(ctx context.Context) (gaps []Gap) {
	if f.Definitions == nil {
		return nil
	}
	counts, _ := f.Counts(ctx)
	rules := f.Unapplied()
	catalogue := f.Definitions.Catalogue()
	for _, name := range catalogue.Names() {
		gap := Gap{MappedEvents: counts[name]}
		gap.Provider = name
		for _, r := range rules[name] {
			gap.Rules = append(gap.Rules, r.Field)
		}
		isBroken := gap.Unmapped > 0 && (gap.Mapped == 0 || catalogue.HasOwnRules(name))
		if isBroken || len(gap.Rules) > 0 {
			gaps = append(gaps, gap)
		}
	}
	return gaps
}
