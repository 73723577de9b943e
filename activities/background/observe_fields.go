package background

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"

	"holdfast/event"
	"holdfast/event/oversight"
	"holdfast/event/shape"
)

// One run observes up to observedTypes types, with the newest observedEvents of their new events each, and begins none after
// observeDuration. The next run has the rest.
const (
	observedTypes   = 200
	observedEvents  = 50
	observeDuration = 20 * time.Second
)

// ShapeStore keeps what the events of each type look like.
type ShapeStore interface {
	// DueTypes returns types with events that weren't observed, those that have waited for longest first.
	DueTypes(ctx context.Context, limit int) ([]shape.Observed, error)
	// Sample returns the newest events of a type after an event, oldest first. The body of a large one is nil.
	Sample(ctx context.Context, provider, eventType, after string, limit int) ([]event.Record, error)
	// Save stores what was observed, unless newer events were observed meanwhile.
	Save(ctx context.Context, o shape.Observed) error
}

// Definitions are the current definitions of providers.
type Definitions struct {
	Redact shape.Redact
	// Reads lists the paths that a definition reads of the events of a type.
	Reads func(provider, eventType string) []shape.Read
}

// Observation counts what a run has observed.
type Observation struct {
	Types  int `json:"types"`
	Events int `json:"events"`
	// Alerts are the changes because of which a rule may find nothing, or something else.
	Alerts int `json:"alerts"`
}

// ObserveFields adds new events to what is known of the fields of their types, and alerts operators of changes that may break a
// rule of a definition. It can be repeated: an attempt that ended before it stored a type may alert twice.
func (a *Activities) ObserveFields(ctx context.Context) (seen Observation, err error) {
	due, err := a.Shapes.DueTypes(ctx, observedTypes)
	if err != nil {
		return seen, err
	}
	end := time.Now().Add(observeDuration)
	for _, o := range due {
		if time.Now().After(end) || ctx.Err() != nil {
			break
		}
		activity.RecordHeartbeat(ctx, o.Provider)
		if failed := a.observe(ctx, o, &seen); failed != nil && err == nil {
			err = failed // of a body that can't be read, for example: other types don't wait for it
		}
	}
	return seen, err
}

func (a *Activities) observe(ctx context.Context, o shape.Observed, seen *Observation) error {
	sample, err := a.Shapes.Sample(ctx, o.Provider, o.Type, o.LastEvent, observedEvents)
	if err != nil || len(sample) == 0 {
		return err
	}
	if o.Shape == nil {
		o.Shape = shape.New(rand.Text())
	}
	var found []shape.FieldChange
	for i := range sample {
		r := &sample[i].Receipt
		o.LastEvent = r.ID
		if body, ok := shape.Body(*r, sample[i].Body, a.Definitions.Redact); ok {
			found = append(found, o.Shape.Add(r.ID, r.ReceivedAt, body)...)
			seen.Events++
		}
	}
	o.At = time.Now()
	reads := a.Definitions.Reads(o.Provider, o.Type)
	o.Shape.Relate(reads, o.At)
	for _, c := range shape.Related(found, reads) {
		if c.Breaks() {
			a.reportDrift(ctx, o, c)
			seen.Alerts++
		}
	}
	seen.Types++
	return a.Shapes.Save(ctx, o)
}

// reportDrift alerts operators of a change before a rule fails because of it.
func (a *Activities) reportDrift(ctx context.Context, o shape.Observed, c shape.FieldChange) {
	slog.WarnContext(ctx, "fields.changed", "provider", o.Provider, "event_type", o.Type, "path", c.Path, "change", string(c.Kind),
		"event_id", c.EventID)
	if a.Errors == nil {
		return
	}
	a.Errors.Record(oversight.ErrorEntry{
		At: o.At, Phase: event.PhaseUpkeep, Provider: o.Provider, Class: event.ClassFailed, Code: "mapped_" + string(c.Kind),
		EventID: c.EventID, Alert: true,
		Message: fmt.Sprintf("%s: %s, which %s needs: %s since %s. See `holdfast types %s`, and correct the definition if it matters",
			o.Type, c.Path, strings.Join(c.ReadBy, " and "), c.Text(), c.Since.UTC().Format(time.RFC3339), o.Provider),
		Meta: map[string]string{"event_type": o.Type, "path": c.Path},
	})
}
