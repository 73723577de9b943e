package lint

import (
	"fmt"
	"net/http"
	"strconv"

	"holdfast/event"
	"holdfast/internal/word"
	"holdfast/providers"
	"holdfast/providers/mapping"
)

// Facts describes what would happen to the request as a whole: alternating names and values. A value may be "". otherwise is how
// the installation replays.
func (e Explanation) Facts(p *providers.Provider, otherwise Replaying) []string {
	answer, refusal := "yes, by "+e.Scheme, ExplainedRefusal{}
	if e.Refused != "" {
		answer, refusal = "refused: "+string(e.Refused), *e.Refusal
	}
	reply := strconv.Itoa(e.Status) + " " + http.StatusText(e.Status)
	if e.Challenge {
		reply += " (a handshake, not an event): " + e.Reply
	}
	return []string{
		"authentic", answer, "because", refusal.Means, "scheme", refusal.Scheme, "found", refusal.Detail, "next", refusal.Next,
		"otherwise", refusal.Otherwise, "elsewhere", e.Elsewhere,
		"reply", reply, "limits", Limits(p), "replay", ReplayOf(p, otherwise),
	}
}

// part says which part of a longer event this one is; "" if it is whole.
func part(e *ExplainedEvent) string {
	if e.Parts == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d, cut by batch.parts", e.Part, e.Parts)
}

// Facts describes what happens to the event: alternating names and values. A value may be "".
func (e *ExplainedEvent) Facts() []string {
	facts := []string{"part", part(e), "workflow", e.WorkflowID, "key", e.Key + " (" + keyOrigin(e) + ")"}
	facts = append(facts, "certainty", e.Certainty, "in doubt", e.InDoubt)
	for _, part := range e.KeyParts {
		facts = append(facts, "  "+part.Field, explainPart(part))
	}
	rules := e.Rules
	if rules == "" {
		rules = "the definition's own"
	}
	facts = append(facts, "type", e.Type, "source", e.Source, "rules", rules, "occurred", occurred(e),
		"priority", string(e.Priority), "lane", lane(e.Lane), "duplicate", duplicates(e), "retries", retries(e.Policy))
	if q := e.Question; q != nil {
		facts = append(facts, "question", question(q))
	}
	if d := e.DeadLetter; d != nil {
		facts = append(facts, "dead letter", fmt.Sprintf("%s (%s)", d.Text(), d.Class))
	}
	for _, rule := range e.Entities {
		facts = append(facts, rule.Field, ruleFact(rule))
	}
	if e.Unmapped {
		facts = append(facts, "outcome", "stored, and no entity is changed: no rule that is meant for it found one")
	}
	if e.Outcome == event.OutcomeIgnored {
		facts = append(facts, "outcome", "ignored: stored, and no entity is touched")
	}
	return facts
}

// ruleFact describes what a rule for entities found.
func ruleFact(r mapping.ExplainedRule) string {
	switch {
	case r.Changes == 0:
		return r.Reason
	case r.Reason == "":
		return word.Count(r.Changes, "change", "changes")
	}
	return word.Count(r.Changes, "change", "changes") + "; " + r.Reason
}
