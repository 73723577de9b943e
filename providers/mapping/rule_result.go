package mapping

import (
	"context"
	"fmt"

	"holdfast/event"
	"holdfast/providers/jq"
)

// skipped is why a rule for entities isn't meant for an event.
type skipped int

const (
	notSkipped skipped = iota
	skippedType
	skippedWhen
	skippedUnfetched
)

// empty is an expression that gave nothing that a rule can use, and its value.
type empty struct {
	x     *jq.Expression
	value any
}

// ruleResult is the result of a rule for entities in an event.
type ruleResult struct {
	skipped skipped
	// items counts the values of each, 1 without it, unnamed those without an ID, omitted those that exceed a limit, and changes the
	// changes that applied.
	items, unnamed, omitted, changes int
	// empty is the expression because of which something is missing.
	empty empty
}

func (r ruleResult) isMeant() bool { return r.skipped == notSkipped }

// reason returns why the rule changed less than it could have, without a value of the event; "" if it didn't.
func (r ruleResult) reason() string {
	switch {
	case r.skipped == skippedType:
		return "isn't for this type"
	case r.skipped == skippedWhen:
		return r.empty.x.Gave(r.empty.value, nil)
	case r.skipped == skippedUnfetched:
		return "is for the fetched state"
	case r.items == 0:
		return r.empty.x.GaveNothing()
	case r.omitted > 0:
		return fmt.Sprintf("%d of %d entities exceed the limit on names or on states", r.omitted, r.items)
	case r.items == 1 && r.unnamed == 1:
		return r.empty.x.Gave(r.empty.value, nil)
	case r.unnamed > 0:
		return fmt.Sprintf("%s for %d of %d items", r.empty.x.Gave(r.empty.value, nil), r.unnamed, r.items)
	case r.changes == 0:
		return "names only what an earlier rule has named"
	}
	return ""
}

// ExplainedRule is a rule for entities with its result.
type ExplainedRule struct {
	Field string `json:"field"`
	// Changes counts the changes that the rule made.
	Changes int `json:"changes"`
	// IsMeant is set if the type of the event is one of the rule's, and its condition holds.
	IsMeant bool `json:"is_meant"`
	// Reason is why the rule changed less than it could have, without values of the event.
	Reason string `json:"reason,omitempty"`
}

// TraceEntities returns the result of each rule for entities; nil if one of them fails, or the event is ignored.
func (r *Rules) TraceEntities(
	ctx context.Context, receipt event.Receipt, eventType string, in jq.Input,
) (traced []ExplainedRule) {
	if r.ignore {
		return nil
	}
	_, _, results, err := changesOf(ctx, r.entities, eventType, in, receipt.Fetched)
	if err != nil {
		return nil
	}
	for i, result := range results {
		traced = append(traced, ExplainedRule{
			Field: r.entities[i].field, Changes: result.changes, IsMeant: result.isMeant(), Reason: result.reason(),
		})
	}
	return traced
}
