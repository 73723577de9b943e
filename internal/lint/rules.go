package lint

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"holdfast/event"
	"holdfast/providers/decode"
	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// unreached records a rule that no event can reach.
func (l *linter) unreached(field, format string, args ...any) {
	l.add(field, RuleUnreachable, "no event can reach it: "+format, args...)
}

// checkOverrides looks for overrides, and types of one, that an earlier override covers: the first match applies.
func (l *linter) checkOverrides() {
	for i, o := range l.written.Overrides {
		field := fmt.Sprintf("overrides[%d]", i)
		l.checkPatterns(field+".types", o.Types)
		var alone []string
		for k, t := range o.Types {
			if l.coveringOverride(i, t) >= 0 {
				alone = append(alone, fmt.Sprintf("%s.types[%d]", field, k))
				continue
			}
			if definition.AnyCovers(definition.Globs(o.Types[:k]), definition.NewGlob(t)) {
				l.unreached(fmt.Sprintf("%s.types[%d]", field, k), "an earlier type of the list covers %q", t)
			}
		}
		if len(alone) == len(o.Types) {
			l.unreached(field, "overrides[%d] covers it", l.coveringOverride(i, o.Types[0]))
			continue
		}
		for _, one := range alone {
			l.unreached(one, "an earlier override covers it")
		}
	}
}

var (
	// regularSigns occur in regular expressions, and in no provider's types.
	regularSigns = regexp.MustCompile(`[\\^$|]|\.\+`)
	asPattern    = strings.NewReplacer(`\.`, ".", ".*", "*", ".+", "*", "^", "", "$", "", `\`, "")
)

// checkPatterns looks for regular expressions among types.
func (l *linter) checkPatterns(field string, types []string) {
	for i, t := range types {
		if regularSigns.MatchString(t) {
			l.unreached(fmt.Sprintf("%s[%d]", field, i), "%q looks like a regular expression, and only * has a meaning: write %q",
				t, asPattern.Replace(t))
		}
	}
}

// coveringOverride returns the first override before n that covers the type, or -1.
func (l *linter) coveringOverride(n int, t string) int {
	return slices.IndexFunc(l.written.Overrides[:n], func(o definition.Override) bool {
		return definition.AnyCovers(definition.Globs(o.Types), definition.NewGlob(t))
	})
}

// checkLane looks for a priority above the lane's, because urgent events must not wait for a batch.
func (l *linter) checkLane(at, lane, priority string) {
	if lane == string(definition.LaneBulk) && priority != "" && priority != string(event.PriorityNormal) {
		l.add(at+"lane", RuleIneffective, "bulk takes no account of the priority %s: it holds for the events that leave their batch",
			priority)
	}
	if lane == string(definition.LaneBulk) && len(l.written.Fetch) > 0 {
		l.add(at+"lane", RuleIneffective, "bulk fetches nothing: rules with `fetched: true` don't apply to its events")
	}
}

// checkRetry looks for delays after the last attempt.
func (l *linter) checkRetry(at string, r *definition.Retry) {
	if r == nil || r.Attempts == nil {
		return
	}
	if unused := len(r.Delays) - (*r.Attempts - 1); unused > 0 {
		l.add(at+"retry.delays", RuleIneffective, "%d attempts have %d pauses between them: the last %d of the list are never used",
			*r.Attempts, *r.Attempts-1, unused)
	}
}

// checkEntities checks one list of entity rules, which applies to the types `within` (nil: to all).
func (l *linter) checkEntities(field string, rules []definition.Entity, within []string) {
	for i := range rules {
		at := fmt.Sprintf("%s[%d]", field, i)
		e := &rules[i]
		if l.written.Source != "" && e.Scope == "" {
			l.add(at+".scope", RuleUnscoped, "is missing: events come from several sources, so say `source`, or `provider` where "+
				"an ID is unique over all of them")
		}
		l.checkPatterns(at+".types", e.Types)
		types, others := definition.Globs(e.Types), definition.Globs(within)
		if !definition.AnyOverlaps(types, others) {
			l.unreached(at+".types", "the override is for other types")
		}
		for k, t := range definition.Globs(e.DeleteOn) {
			one := []definition.Glob{t}
			if !definition.AnyOverlaps(one, types) || !definition.AnyOverlaps(one, others) {
				l.unreached(fmt.Sprintf("%s.delete_on[%d]", at, k), "the rule is for other types")
			}
		}
		l.checkFetched(at, e)
		for j := range rules[:i] {
			if shadows(&rules[j], e) {
				l.unreached(at, "%s[%d] names the same entity first", field, j)
				break
			}
		}
	}
}

var (
	readsFetched = regexp.MustCompile(`(^|[^\w\])"?.])\.fetched\b`)
	// standIn is a fetched value in place of one that the event lacks.
	standIn = regexp.MustCompile(`//\s*\.fetched\b`)
)

// checkFetched looks for rules that read the fetched state and would order it by the time of the event.
func (l *linter) checkFetched(at string, e *definition.Entity) {
	if e.Fetched {
		return
	}
	read := map[string]definition.JQ{"when": e.When, "each": e.Each, "kind_from": e.KindFrom, "state": e.State, "version": e.Version}
	for _, name := range e.ID {
		read["id"] += name + " "
	}
	for _, field := range slices.Sorted(maps.Keys(read)) {
		if readsFetched.MatchString(standIn.ReplaceAllString(string(read[field]), "")) {
			l.add(at+"."+field, RuleUnfetched, "reads .fetched, which is newer than the event: add `fetched: true`, or use it only "+
				"after //, in place of what the event lacks and what never changes")
		}
	}
}

// shadows reports whether e names every entity that other names. A rule for a fetched state leaves events without one to the next
// rule.
func shadows(e, other *definition.Entity) bool {
	return e.When == "" && (!e.Fetched || other.Fetched) &&
		e.Scope == other.Scope && e.Kind == other.Kind && e.KindFrom == other.KindFrom &&
		slices.Equal(e.ID, other.ID) && e.Each == other.Each &&
		definition.CoveredBy(definition.Globs(other.Types), definition.Globs(e.Types))
}

// checkVersions looks for changes without a version of a kind whose other changes have one. They sort before all versioned
// changes, whenever they occur, so that a later one has no effect. A mention changes nothing anyway.
func (l *linter) checkVersions() {
	lists := map[string][]definition.Entity{"entities": l.written.Entities}
	for i, o := range l.written.Overrides {
		lists[fmt.Sprintf("overrides[%d].entities", i)] = o.Entities
	}
	versioned := map[string]bool{}
	for _, rules := range lists {
		for _, e := range rules {
			versioned[e.Kind] = versioned[e.Kind] || e.Version != ""
		}
	}
	for _, field := range slices.Sorted(maps.Keys(lists)) {
		for i, e := range lists[field] {
			if e.Version == "" && !onlyMentions(e) && e.Kind != "" && versioned[e.Kind] {
				l.add(fmt.Sprintf("%s[%d].version", field, i), RuleUnversioned, "is missing: other rules of kind %q have one, and what "+
					"has none comes before all of theirs", e.Kind)
			}
		}
	}
}

// onlyMentions reports whether no event of the rule changes anything.
func onlyMentions(e definition.Entity) bool {
	return cmp.Or(e.Op, string(event.OpPatch)) == string(event.OpPatch) && e.State == "" && len(e.DeleteOn) == 0
}

// checkBaseEntities looks for entity rules all of whose types belong to overrides with entities of their own.
func (l *linter) checkBaseEntities() {
	for i, e := range l.written.Entities {
		if len(e.Types) > 0 && !slices.ContainsFunc(definition.Globs(e.Types), l.reachesBase) {
			l.unreached(fmt.Sprintf("entities[%d]", i), "overrides with entities of their own cover its types")
		}
	}
}

// reachesBase reports whether the definition's own entities map some event of the type.
func (l *linter) reachesBase(t definition.Glob) bool {
	for _, o := range l.written.Overrides {
		replaces := o.Ignore || o.Entities != nil
		switch types := definition.Globs(o.Types); {
		case !replaces && definition.AnyOverlaps(types, []definition.Glob{t}):
			return true
		case replaces && definition.AnyCovers(types, t):
			return false
		}
	}
	return true
}

func (l *linter) checkQuestions() {
	var earlier []definition.Glob
	for i, q := range l.written.Questions {
		types := definition.Globs(q.Types)
		if len(earlier) > 0 && definition.CoveredBy(types, earlier) {
			l.unreached(fmt.Sprintf("questions[%d]", i), "earlier questions cover its types")
		}
		earlier = append(earlier, types...)
	}
}

func (l *linter) checkDecoders() {
	seen := map[string]bool{}
	for i, d := range l.written.Decode {
		media := decode.MediaType(d.ContentType)
		if seen[media] {
			l.unreached(fmt.Sprintf("decode[%d]", i), "an earlier rule reads %s", media)
		}
		seen[media] = true
	}
}

// checkUnsigned looks for types, sources and entities that come from input that one of the schemes doesn't cover: with one
// signed body anyone could forge them. The compiler refuses such keys.
func (l *linter) checkUnsigned() {
	d := l.written
	if d.Unsigned != "" {
		return
	}
	l.checkCovered("type", d.Type)
	l.checkCovered("source", d.Source)
	l.checkCoveredEntities("entities", d.Entities)
	for i, o := range d.Overrides {
		l.checkCoveredEntities(fmt.Sprintf("overrides[%d].entities", i), o.Entities)
	}
}

func (l *linter) checkCoveredEntities(field string, entities []definition.Entity) {
	for i := range entities {
		at, e := fmt.Sprintf("%s[%d].", field, i), &entities[i]
		l.checkCovered(at+"when", e.When)
		l.checkCovered(at+"each", e.Each)
		l.checkCovered(at+"kind_from", e.KindFrom)
		for _, name := range e.ID {
			l.checkCovered(at+"id", name)
		}
		l.checkCovered(at+"state", e.State)
		l.checkCovered(at+"version", e.Version)
	}
}

func (l *linter) checkCovered(field string, source definition.JQ) {
	x, err := jq.Compile(field, string(source))
	if x == nil || err != nil {
		return // it has compiled before
	}
	for _, one := range l.provider.Alternatives() {
		c := one.Coverage()
		for _, what := range append(c.Uncovered(x.Dependencies.Headers, x.Dependencies.Query, x.Dependencies.Path),
			c.UncoveredBody(l.provider.ItemPath(), x.Dependencies.BodyPaths())...) {
			l.add(field, RuleUnsigned, "reads %s, which no signature covers: take it from the body, or say why not under `unsigned`",
				what)
		}
	}
}
