package desk

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
)

// TrialBooks are where a trial finds what it needs.
type TrialBooks interface {
	// Subscription is one by its name or number, or event.ErrNotFound.
	Subscription(ctx context.Context, nameOrID string) (delivery.Subscription, error)
	Target(ctx context.Context, subscriptionID int64) (delivery.Target, error)
	// Messages reads events; one that is not there is missing from the map.
	Messages(ctx context.Context, eventIDs []string, maxBytes int) (found map[string]delivery.Message, read int, err error)
	// Audit writes an entry of the audit log: who tries a subscription makes a receiver act.
	Audit(ctx context.Context, e oversight.AuditEntry) error
}

// Sender makes one attempt. It always gives a result, within the context's deadline.
type Sender interface {
	Send(ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message) delivery.Result
}

// Trials try subscriptions.
type Trials struct {
	Books TrialBooks
	// HTTP and Temporal send to the kinds of destination.
	HTTP, Temporal Sender
	// Samples have events of the definitions.
	Samples Samples
	// Look examines a task queue of a Temporal, with a sample of an event; nil where there is none.
	Look func(ctx context.Context, t delivery.Target, sample *delivery.Message) ([]delivery.Finding, error)
}

// Choice says which event a trial sends: a stored one, or a sample of a provider and a type. Without all of them it is a sample
// that the subscription asks for.
type Choice struct {
	EventID  string `json:"event_id"`
	Provider string `json:"provider"`
	Type     string `json:"type"`
}

// Try sends one event to the destination of a subscription, in the form of the subscription, once, whether or not its filter
// wants it, and whatever state the destination is in. A receiver does with it what it does with events: a workflow is started, a
// customer is told. The event has an ID of its own, so that what is stored under the event's is not taken for delivered.
func (t *Trials) Try(ctx context.Context, subscription string, which Choice, by oversight.Actor) (delivery.Trial, error) {
	target, err := t.target(ctx, subscription)
	if err != nil {
		return delivery.Trial{}, err
	}
	message, of, err := t.message(ctx, target.Subscription.Events, which)
	if err != nil {
		return delivery.Trial{}, err
	}
	message.Receipt.ID = uuid.Must(uuid.NewV7()).String()
	matches, err := wants(ctx, target.Subscription, message)
	if err != nil {
		return delivery.Trial{}, err
	}
	did := by.Did(oversight.AuditSubscriptionTest, "subscription:"+target.Subscription.Name, nil)
	if err := t.Books.Audit(ctx, did); err != nil {
		return delivery.Trial{}, err
	}
	r := t.send(ctx, target, message)
	return delivery.Trial{
		EventID: message.Receipt.ID, Provider: message.Receipt.Provider, Type: message.Type, Of: of, Matches: matches,
		OK: r.Kind == delivery.OK, Code: r.Code, Error: r.Error, MS: int(r.Took.Milliseconds()), Answer: r.Answer,
	}, nil
}

func (t *Trials) target(ctx context.Context, subscription string) (delivery.Target, error) {
	s, err := t.Books.Subscription(ctx, subscription)
	if err != nil {
		return delivery.Target{}, err
	}
	return t.Books.Target(ctx, s.ID)
}

func (t *Trials) send(ctx context.Context, target delivery.Target, m delivery.Message) delivery.Result {
	limit := target.Destination.Timeout
	if limit == 0 {
		limit = delivery.DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, time.Duration(limit))
	defer cancel()
	job := delivery.Job{
		Key:           delivery.Key{EventID: m.Receipt.ID, SubscriptionID: target.Subscription.ID},
		DestinationID: target.Destination.ID, QueuedAt: time.Now(),
	}
	if target.Destination.HTTP != nil {
		return t.HTTP.Send(ctx, target, job, m)
	}
	return t.Temporal.Send(ctx, target, job, m)
}

// message is the event that is sent, and what it is in words.
func (t *Trials) message(ctx context.Context, e delivery.Events, which Choice) (m delivery.Message, of string, err error) {
	if which.EventID == "" {
		if which.Provider != "" {
			e.Providers = []string{which.Provider}
		}
		if which.Type != "" {
			e.Types = []string{which.Type}
		}
		m, err = t.Samples.Of(e)
		return m, "sample", err
	}
	found, _, err := t.Books.Messages(ctx, []string{which.EventID}, maxBody)
	if err != nil {
		return m, "", err
	}
	m, ok := found[which.EventID]
	if !ok {
		return m, "", fmt.Errorf("read event %s: %w", which.EventID, event.ErrNotFound)
	}
	return m, "event " + which.EventID, nil
}

// maxBody is in bytes: more than an event has.
const maxBody = 32 << 20

// wants says whether the subscription would have sent the message by itself, were it active.
func wants(ctx context.Context, s delivery.Subscription, m delivery.Message) (bool, error) {
	s.Active = true
	router := delivery.NewRouter()
	router.Put(s)
	hits, err := router.Match(ctx, m)
	return len(hits) > 0 && !hits[0].Failed, err
}

// Check looks at a subscription without sending anything: whether a sample fits it, and what there is to find at its destination.
func (t *Trials) Check(ctx context.Context, subscription string) ([]delivery.Finding, error) {
	target, err := t.target(ctx, subscription)
	if err != nil {
		return nil, err
	}
	var sample *delivery.Message
	if m, err := t.Samples.Of(target.Subscription.Events); err == nil {
		sample = &m
	}
	found := []delivery.Finding{checkEvents(ctx, target.Subscription, sample)}
	if target.Destination.HTTP != nil {
		return append(found, checkSecrets(target)), nil
	}
	more, err := t.Look(ctx, target, sample)
	return append(found, more...), err
}

func checkEvents(ctx context.Context, s delivery.Subscription, sample *delivery.Message) delivery.Finding {
	f := delivery.Finding{About: "events"}
	if sample == nil {
		f.Text = "no definition has a sample of an event that it asks for: mind the names of providers and types"
		return f
	}
	what := sample.Receipt.Provider + " " + sample.Type
	matches, err := wants(ctx, s, *sample)
	switch {
	case err != nil:
		f.Text = "the filter could not be tried: " + err.Error()
	case !matches:
		f.OK, f.Text = true, "the filter does not want the sample of "+what+", which may be right"
	default:
		f.OK, f.Text = true, "wants the sample of "+what
	}
	return f
}

func checkSecrets(t delivery.Target) delivery.Finding {
	if n := len(t.Secrets); n > 0 {
		return delivery.Finding{About: "secrets", OK: true, Text: fmt.Sprintf("requests are signed with %d", n)}
	}
	text := "there is none, so that nothing can be sent: rotate the secret of " + t.Destination.Name
	if name := t.Destination.HTTP.Secrets; name != "" {
		text = "the variable " + name + " isn't set, or isn't on the list of variables that destinations may use: " +
			"set it, and apply the destination as an admin"
	}
	return delivery.Finding{About: "secrets", Text: text}
}
