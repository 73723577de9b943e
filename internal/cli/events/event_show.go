package events

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
	"holdfast/internal/cli/deadletter"
	"holdfast/internal/cli/destination"
	"holdfast/operator/api"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/httpapi"
)

func eventShowCommand() *cobra.Command {
	return cli.WithJSON(cli.WithAPI(&cobra.Command{
		Use:   "show ID",
		Short: "Show one event: its status, entities and body",
		Long: "Show one event: its status, entities and the first " + cli.Number(api.MaxShown>>10) + " KiB of its body. ID is its\n" +
			"own, its workflow's (provider:key), its key, the number of its dead letter, or the\n" +
			"ID of its run or request.",
		Example: "  holdfast event show stripe:evt_123\n  holdfast event show evt_123 --json | jq .body.json",
	}, func(c *cobra.Command, a *cli.API, args []string) error {
		ids, err := a.FindEvents(c.Context(), args[0])
		switch {
		case err != nil:
			return err
		case len(ids) > 1:
			return printRequest(c, args[0], ids)
		}
		return showEvent(c, a, ids[0])
	}))
}

// printRequest lists the events of a request with several events, or those of a key that several providers have.
func printRequest(c *cobra.Command, name string, events []string) error {
	brought := struct {
		RequestID string   `json:"request_id"`
		EventIDs  []string `json:"event_ids"`
	}{name, events}
	return cli.Print(c, brought, func(w io.Writer) error {
		fmt.Fprintf(w, "%s matches %d events:\n", cli.Printable(name), len(events))
		for _, e := range events {
			fmt.Fprintln(w, e)
		}
		return nil
	})
}

// showEvent prints an event wherever it is: stored, in the inbox, waiting for a worker, failed before it had a row, or deleted
// except for an operator's decision.
func showEvent(c *cobra.Command, a *cli.API, id string) error {
	err := cli.Show(c, a, cli.Path("events", id), nil, func(w io.Writer, e api.EventDetail) error {
		switch {
		case e.Status == api.StatusWaiting:
			var waiting event.Waiting
			if err := a.Read(c.Context(), cli.Path("inbox", id), nil, &waiting); err == nil {
				return writeWaiting(w, waiting, e)
			}
		case e.PersistedAt.IsZero() && len(e.DeadLetters) > 0:
			return deadletter.Write(c.Context(), w, a, e.DeadLetters[0].ID)
		}
		return writeEvent(w, e)
	})
	return showRest(c, id, err)
}

// showRest prints the remaining records of a deleted event.
func showRest(c *cobra.Command, id string, err error) error {
	var refused *cli.RefusalError
	switch {
	case !errors.As(err, &refused):
		return err
	case refused.Decision != nil:
		return cli.Print(c, refused.Decision, func(w io.Writer) error { return writeDecision(w, *refused.Decision) })
	case refused.Conflict != nil:
		return cli.Print(c, refused.Conflict, func(w io.Writer) error { return writeDropped(w, *refused.Conflict) })
	case !errors.Is(err, event.ErrNotFound) || refused.Detail != "":
		return err
	}
	return cli.NotFound("no event %s. It may have been a dropped duplicate, which has no row; "+
		"use the workflow ID (provider:key) to see the original event", id)
}

func writeDropped(w io.Writer, c event.Conflict) error {
	return cli.WriteFields(w,
		"event", c.EventID,
		"status", "dropped: another event has its key",
		"provider", c.Provider,
		"source", c.Source,
		"key", c.Key,
		"owner of the key", c.Owner,
		"received", c.LastSeen.Format(time.RFC3339Nano),
	)
}

func writeDecision(w io.Writer, v event.Decision) error {
	return cli.WriteFields(w,
		"event", v.EventID,
		"status", string(v.Outcome),
		"by", v.By,
		"at", v.At.Format(time.RFC3339Nano),
		"because", v.Reason,
		"replaced by event", v.ReplacedBy,
	)
}

func writeEvent(w io.Writer, e api.EventDetail) error {
	var processed string
	if e.ProcessedAt != nil {
		processed = fmt.Sprintf("%s (%s after receipt)",
			e.ProcessedAt.Format(time.RFC3339Nano), e.ProcessedAt.Sub(e.ReceivedAt).Round(time.Millisecond))
	}
	status := string(e.Status)
	if e.Outcome != "" && string(e.Outcome) != status {
		status += " (" + string(e.Outcome) + ")"
	}
	var advice string
	if e.Wait != nil {
		status, advice = status+", "+e.Wait.Reason, e.Wait.Advice
	}
	err := cli.WriteFields(w,
		"event", e.ID,
		"status", status,
		"provider", e.Provider,
		"source", e.Source,
		"type", e.Type,
		"key", fmt.Sprintf("%s (from %s)", e.Key, e.Receipt.KeyFrom),
		"corrected key", e.CorrectedKey,
		"workflow", e.Run.WorkflowID,
		"run", e.Run.RunID,
		"Temporal Web", e.TemporalWeb,
		"next step", advice,
		"occurred", occurred(e),
		"received", e.ReceivedAt.Format(time.RFC3339Nano),
		"processed", processed,
		"asked for", redeliveredAs(e.RedeliveredAs),
		"redelivered", cameAgain(e.Duplicates),
		"possible duplicate of", possibleDuplicate(e.PossibleDuplicateOf),
		"entities left out", omitted(e.Omitted),
		"request", e.Receipt.RequestID,
		"correlation", e.Receipt.CorrelationID,
		"projection", e.PayloadNote,
		"replaces event", e.Replaces,
		"split from event", e.SplitFrom,
	)
	if err != nil {
		return err
	}
	if v := e.Decision; v != nil {
		err := cli.WriteFields(w, "decided", string(v.Outcome), "by", v.By, "at", v.At.Format(time.RFC3339Nano), "because", v.Reason,
			"replaced by event", v.ReplacedBy)
		if err != nil {
			return err
		}
	}
	if err := deadletter.WriteShort(w, e.DeadLetters); err != nil {
		return err
	}
	if err := writeLinks(w, e.Entities); err != nil {
		return err
	}
	if err := destination.WriteDeliveries(w, e.Deliveries); err != nil {
		return err
	}
	return cli.WriteContent(w, e.ID, e.Body)
}

// occurred returns "" for an event that hasn't been parsed yet.
func occurred(e api.EventDetail) string {
	if e.PersistedAt.IsZero() {
		return ""
	}
	return e.OccurredAt.Format(time.RFC3339Nano)
}

// redeliveredAs explains why another event is shown than was asked for; "" if it isn't.
func redeliveredAs(id string) string {
	if id == "" {
		return ""
	}
	return id + ", a redelivery of this event"
}

// cameAgain describes an event's redeliveries; "" for none.
func cameAgain(d *event.Duplicates) string {
	if d == nil {
		return ""
	}
	first, last := d.FirstSeen.Format(time.RFC3339Nano), d.LastSeen.Format(time.RFC3339Nano)
	text := fmt.Sprintf("%d × (first %s, last %s)", d.Times, first, last)
	if d.Rewritten > 0 {
		text += fmt.Sprintf("; %d with other bytes, the same JSON value", d.Rewritten)
	}
	return text
}

// possibleDuplicate names an event with the same content, and how to compare the two.
func possibleDuplicate(of string) string {
	if of == "" {
		return ""
	}
	return of + " (same content; to compare: holdfast event show " + of + ")"
}

// omitted names the entities that an event left out, and the next step.
func omitted(o *event.Omitted) string {
	if o == nil {
		return ""
	}
	var named []string
	for _, e := range o.Entities {
		named = append(named, fmt.Sprintf("%s %s (%s)", e.Kind, e.ExternalID, e.Reason))
	}
	if more := o.Count - len(o.Entities); more > 0 {
		named = append(named, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(named, ", ") + "; to fix: " + event.OmittedAdvice
}

func writeLinks(w io.Writer, links []api.Change) error {
	if len(links) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	table := cli.NewTable(w, "ENTITY!", "CHANGE", "STATE")
	for _, l := range links {
		table.Row(l.Kind+" "+l.ExternalID, string(l.Op), cli.Shorten(string(l.State)))
	}
	return table.Flush()
}

func eventAttemptsCommand() *cobra.Command {
	return cli.WithJSON(cli.WithAPI(&cobra.Command{
		Use:     "attempts ID",
		Short:   "Show the attempts to deliver one event",
		Example: "  holdfast event attempts stripe:evt_123",
	}, func(c *cobra.Command, a *cli.API, args []string) error {
		id, err := a.FindEvent(c.Context(), args[0])
		if err != nil {
			return err
		}
		return cli.Show(c, a, cli.Path("events", id, "attempts"), nil,
			func(w io.Writer, all httpapi.List[deliveryapi.AttemptView]) error {
				if len(all.Items) == 0 {
					fmt.Fprintln(w, "no attempts yet: holdfast event show "+id)
				}
				return destination.WriteAttempts(w, all.Items)
			})
	}))
}
