package lint

import (
	"fmt"
	"slices"
	"strings"

	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

const bodyHash = "body_sha256"

// sendingTimes are names of fields for the time of a delivery attempt.
var sendingTimes = []string{
	"sent_at", "delivered_at", "delivery_time", "attempted_at", "last_attempt_at", "retried_at", "sending_time", "dispatched_at",
}

// checkParts looks for keys that name something else than an event: a thing, a request, a delivery.
func (l *linter) checkParts(at string, k *definition.Key) {
	field := at + "key.parts"
	for i, part := range k.Parts {
		if last := lastName(part.Expr); isNamed(last, counters) || isNamed(last, sendingTimes) {
			l.add(fmt.Sprintf("%s[%d]", field, i), RuleCounter,
				"reads %q, which differs in each delivery: a retry would be another event. Leave it out", last)
		}
	}
	if len(k.Parts) == 0 || k.Certainty == guessed {
		return
	}
	hashes := func(p definition.Part) bool { return p.Expr == bodyHash }
	if k.Certainty == "certain" && !slices.ContainsFunc(k.Parts, func(p definition.Part) bool { return !hashes(p) }) {
		l.add(at+"key.certainty", RuleCoarseKey,
			"is certain, and the key is the hash of the body: two events can have the same body. Write `certainty: guessed`")
	}
	tellsItems := func(p definition.Part) bool { return hashes(p) || readsItem(p.Expr) }
	if l.written.Batch != nil && !slices.ContainsFunc(k.Parts, tellsItems) {
		l.add(field, RuleCoarseKey, "reads nothing of the item of the batch, so that all events of a request have one key: "+
			"take the ID from .body, which is the item")
		return
	}
	if kind := l.namesThing(k); kind != "" {
		l.add(field, RuleCoarseKey, "is the ID of the %s, which has several events: all but the first would be dropped as duplicates. "+
			"Use the ID of the event, or add the type and what else tells them apart", kind)
	}
}

// namesThing returns the kind of the entity whose ID is the whole key, if samples of several types are about one; "" otherwise.
func (l *linter) namesThing(k *definition.Key) string {
	for _, e := range l.written.Entities {
		isID := func(p definition.Part) bool {
			return slices.ContainsFunc(e.ID, func(id definition.JQ) bool { return bare(id) == bare(p.Expr) })
		}
		if !slices.ContainsFunc(k.Parts, func(p definition.Part) bool { return !isID(p) }) && l.typesOf(e) > 1 {
			return orElseText(e.Kind, "entity")
		}
	}
	return ""
}

func orElseText(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// typesOf counts the types of samples that a rule is for.
func (l *linter) typesOf(e definition.Entity) (n int) {
	seen := map[string]bool{}
	for _, name := range l.provider.SampleTypes() {
		of := eventOf(name)
		if !seen[of] && (len(e.Types) == 0 || definition.AnyMatch(definition.Globs(e.Types), of)) {
			seen[of], n = true, n+1
		}
	}
	return n
}

// bare is an expression without what only keeps it from failing.
func bare(source definition.JQ) string {
	return strings.ReplaceAll(strings.TrimSpace(string(source)), "?", "")
}

// lastName returns the name at the end of a path; "" for other expressions.
func lastName(source definition.JQ) string {
	x, err := jq.Compile("", string(source))
	if err != nil || x == nil || len(x.Names) == 0 {
		return ""
	}
	return x.Names[len(x.Names)-1]
}

func readsItem(source definition.JQ) bool {
	x, err := jq.Compile("", string(source))
	return err != nil || x == nil || x.Dependencies.Body
}
