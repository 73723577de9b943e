package admin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"holdfast/delivery"
)

// tried collects the results for the samples that a subscription's providers and types select.
type tried struct {
	all, wanted, built []delivery.Message
	// failed are those that match the filter and can't be put into the form of the subscription.
	failed []delivery.Finding
	// chosen means that the user has chosen the events, and expects them to match.
	chosen bool
}

func (t *Trials) trySamples(ctx context.Context, target delivery.Target, all []delivery.Message) (tried, error) {
	result := tried{all: all}
	for _, m := range all {
		matches, err := wants(ctx, target.Subscription, m)
		if err != nil {
			return result, err
		}
		if !matches {
			continue
		}
		result.wanted = append(result.wanted, m)
		if err := t.sender(target).Build(ctx, target, m); err != nil {
			text := fmt.Sprintf("%s: %v; such an event becomes a dead letter", nameOf(m), err)
			result.failed = append(result.failed, delivery.Finding{About: "sample", Text: text})
			continue
		}
		result.built = append(result.built, m)
	}
	return result, nil
}

// best returns the sample for further checks.
func (t tried) best() delivery.Message {
	for _, some := range [][]delivery.Message{t.built, t.wanted} {
		if len(some) > 0 {
			return some[0]
		}
	}
	return t.all[0]
}

// maxFindings bounds the samples that a finding names, and those with a finding of their own.
const maxFindings = 10

func (t tried) findings() []delivery.Finding {
	return append([]delivery.Finding{t.summary()}, t.failures()...)
}

func (t tried) failures() []delivery.Finding {
	more := len(t.failed) - maxFindings
	if more <= 0 {
		return t.failed
	}
	return append(t.failed[:maxFindings:maxFindings],
		delivery.Finding{About: "sample", Text: fmt.Sprintf("%d more can't be sent either", more)})
}

func (t tried) summary() delivery.Finding {
	f := delivery.Finding{About: "events", OK: true}
	if t.chosen {
		return t.summaryOfExample()
	}
	if len(t.wanted) == 0 {
		f.Text = fmt.Sprintf("the filter wants none of %d samples (%s), which may be right", len(t.all), namesOf(t.all))
		return f
	}
	f.Text = fmt.Sprintf("wants %d of %d samples: %s", len(t.wanted), len(t.all), namesOf(t.wanted))
	return f
}

func (t tried) summaryOfExample() delivery.Finding {
	if len(t.wanted) < len(t.all) {
		text := fmt.Sprintf("wants %d of %d events (%s): its providers, types and filter don't select the others",
			len(t.wanted), len(t.all), namesOf(t.all))
		return delivery.Finding{About: "events", Text: text}
	}
	return delivery.Finding{About: "events", OK: true, Text: "wants " + namesOf(t.all)}
}

// filterCost says what the filter adds to each event; nothing if there is none.
func filterCost(ctx context.Context, e delivery.Events, m delivery.Message) []delivery.Finding {
	cost := e.FilterCost(ctx, m)
	took := cost.Took.Round(100 * time.Nanosecond)
	var text string
	switch {
	case e.Filter == "":
		return nil
	case cost.Took == 0:
		text = fmt.Sprintf("costs nothing: its comparison of %s is indexed", cost.Index)
	case cost.Index != "":
		text = fmt.Sprintf("costs %s for each event that its comparison of %s selects, which is indexed", took, cost.Index)
	default:
		text = fmt.Sprintf("costs %s for each event of its providers and types: it has no comparison that can be indexed, "+
			`such as .body.account == "a7"`, took)
	}
	return []delivery.Finding{{About: "filter", OK: true, Text: text}}
}

func nameOf(m delivery.Message) string { return m.Receipt.Provider + " " + m.Type }

func namesOf(all []delivery.Message) string {
	var names []string
	for _, m := range all[:min(len(all), maxFindings)] {
		names = append(names, nameOf(m))
	}
	if more := len(all) - maxFindings; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
