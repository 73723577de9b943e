package lint

import (
	"fmt"
	"maps"
	"slices"

	"holdfast/providers/definition"
	"holdfast/providers/jq"
)

// inputs are the fields of an expression's input.
var inputs = []string{"headers", "query", "path", "body", "fetched", "also"}

// checkInputs looks for paths that begin with a field of the event instead of .body: they always give null.
func (l *linter) checkInputs() {
	d := l.written
	read := map[string]definition.JQ{"type": d.Type, "source": d.Source}
	add := func(at string, key *definition.Key, times []definition.Time, entities []definition.Entity) {
		if key != nil {
			for i, part := range key.Parts {
				read[fmt.Sprintf("%skey.parts[%d]", at, i)] = part.Expr
			}
		}
		for i, t := range times {
			read[fmt.Sprintf("%soccurred_at[%d].expr", at, i)] = t.Expr
		}
		for i, e := range entities {
			of := fmt.Sprintf("%sentities[%d].", at, i)
			read[of+"when"], read[of+"state"], read[of+"kind_from"], read[of+"version"] = e.When, e.State, e.KindFrom, e.Version
			for _, id := range e.ID {
				read[of+"id"] = id
			}
		}
	}
	add("", d.Key, d.OccurredAt, d.Entities)
	for i, o := range d.Overrides {
		add(fmt.Sprintf("overrides[%d].", i), o.Key, o.OccurredAt, o.Entities)
	}
	for i, source := range d.Redact {
		read[fmt.Sprintf("redact[%d]", i)] = source
	}
	for _, field := range slices.Sorted(maps.Keys(read)) {
		l.checkInput(field, read[field])
	}
}

func (l *linter) checkInput(field string, source definition.JQ) {
	x, err := jq.Compile(field, string(source))
	if x == nil || err != nil || source == "body_sha256" {
		return // it has compiled before
	}
	for _, path := range x.Paths {
		if len(path) > 0 && !slices.Contains(inputs, path[0]) {
			l.add(field, RuleNoInput, "reads .%[1]s, which is always null: an event's fields are in .body, write .body.%[1]s", path[0])
		}
	}
}
