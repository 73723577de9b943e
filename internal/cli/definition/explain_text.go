package definition

import (
	"fmt"
	"io"
	"net/http"
	"strconv"

	"holdfast/event"
	"holdfast/internal/cli"
	"holdfast/providers"
	"holdfast/providers/lint"
)

func writeExplanation(w io.Writer, p *providers.Provider, e lint.Explanation) error {
	verdict := "yes, by " + e.Scheme
	if e.Refused != "" {
		verdict = "refused: " + string(e.Refused)
	}
	reply := strconv.Itoa(e.Status) + " " + http.StatusText(e.Status)
	if e.Challenge {
		reply += " (a handshake, not an event): " + e.Reply
	}
	err := cli.WriteFields(w, "authentic", verdict, "reply", reply, "limits", limits(p), "redrive", redriveOf(p.Redrive()))
	if err != nil {
		return err
	}
	if e.Refused == "" && !e.Challenge && len(e.Events) == 0 {
		fmt.Fprintln(w, "\nno events: an empty batch")
	}
	for i := range e.Events {
		fmt.Fprintf(w, "\nevent %d of %d\n", i+1, len(e.Events))
		if err := writeExplainedEvent(w, &e.Events[i]); err != nil {
			return err
		}
	}
	return nil
}

func writeExplainedEvent(w io.Writer, e *lint.ExplainedEvent) error {
	fields := []string{"workflow", e.WorkflowID, "key", e.Key + " (" + keyOrigin(e) + ")"}
	for _, part := range e.KeyParts {
		fields = append(fields, "  "+part.Field, explainPart(part))
	}
	rules := e.Rules
	if rules == "" {
		rules = "the definition's own"
	}
	fields = append(fields, "type", e.Type, "source", e.Source, "rules", rules, "occurred", occurred(e),
		"priority", string(e.Priority), "lane", lane(e.Lane), "duplicate", window(e.DedupeWindow), "retries", retries(e.Policy))
	if q := e.Question; q != nil {
		fields = append(fields, "question", question(q))
	}
	if d := e.DeadLetter; d != nil {
		fields = append(fields, "dead letter", fmt.Sprintf("%s (%s, %s)", d.Message, d.Class, d.Code))
	}
	if e.Outcome == event.OutcomeIgnored {
		fields = append(fields, "outcome", "ignored: stored, and no entity is touched")
	}
	if err := cli.WriteFields(w, fields...); err != nil {
		return err
	}
	for _, change := range e.Changes {
		fmt.Fprintf(w, "%s %s %s  %s\n", change.Op, cli.Printable(change.Kind), cli.Printable(change.ExternalID),
			cli.Printable(cli.Shorten(string(change.State))))
	}
	return nil
}
