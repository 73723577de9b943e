package admin

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"holdfast/delivery"
	"holdfast/event"
	"holdfast/event/oversight"
)

// TrialStore stores what a trial needs.
type TrialStore interface {
	// Subscription returns one by its name or number, or event.ErrNotFound.
	Subscription(ctx context.Context, nameOrID string) (delivery.Subscription, error)
	Target(ctx context.Context, subscriptionID int64) (delivery.Target, error)
	// Messages returns events by ID; unknown ones are missing from the map.
	Messages(ctx context.Context, eventIDs []string, maxBytes int) (found map[string]delivery.Message, read int, err error)
	// Audit writes an entry of the audit log: a trial makes an endpoint act.
	Audit(ctx context.Context, e oversight.AuditEntry) error
}

// Sender makes one attempt.
type Sender interface {
	// Build returns an *event.Error if the event can't be put into the form of the subscription; nil if it can.
	Build(ctx context.Context, t delivery.Target, m delivery.Message) error
	// Send always returns a result, within the context's deadline.
	Send(ctx context.Context, t delivery.Target, j delivery.Job, m delivery.Message) delivery.Result
}

// Trials tries and checks subscriptions.
type Trials struct {
	Store TrialStore
	// HTTP, Temporal and Queues send to the kinds of destination: endpoints, task queues, and queues of brokers.
	HTTP, Temporal, Queues Sender
	// Samples returns events of the definitions.
	Samples Samples
	// Look examines a task queue of a Temporal, with a sample of an event; nil without Temporal.
	Look func(ctx context.Context, t delivery.Target, sample *delivery.Message) ([]delivery.Finding, error)
	// LookAtQueue examines a queue of a broker.
	LookAtQueue func(ctx context.Context, t delivery.Target) []delivery.Finding
}

// Choice selects the event that a trial sends: a stored one, or a sample of a provider and a type. By default it is the first
// sample that the subscription wants and can be built from, or else the first that its providers and types select.
type Choice struct {
	// EventID is a stored event, which is sent with a new ID.
	EventID string `json:"event_id,omitempty" jsonschema:"format=uuid"`
	// Provider and Type select a sample.
	Provider string `json:"provider,omitempty"`
	Type     string `json:"type,omitempty"`
	// Body is an event that the provider could send, for a check.
	Body []byte `json:"-"`
}

// isExample reports whether the user has chosen the event.
func (c Choice) isExample() bool { return c.EventID != "" || c.Body != nil }

// Try sends one event to the destination of a subscription, in the form of the subscription, once, whatever its filter and the
// state of the destination. The endpoint handles it like any event: it may start a workflow or notify a customer. The event has
// an ID of its own, so that the endpoint doesn't take the real event for a duplicate.
func (t *Trials) Try(ctx context.Context, subscription string, which Choice, by oversight.Actor) (delivery.Trial, error) {
	target, err := t.target(ctx, subscription)
	if err != nil {
		return delivery.Trial{}, err
	}
	message, of, failed, err := t.message(ctx, target, which)
	if err != nil {
		return delivery.Trial{}, err
	}
	message.Receipt.ID = uuid.Must(uuid.NewV7()).String()
	matches, err := wants(ctx, target.Subscription, message)
	if err != nil {
		return delivery.Trial{}, err
	}
	did := by.Did(oversight.AuditSubscriptionTest, "subscription:"+target.Subscription.Name, nil)
	if err := t.Store.Audit(ctx, did); err != nil {
		return delivery.Trial{}, err
	}
	r := t.send(ctx, target, message)
	return delivery.Trial{
		EventID: message.Receipt.ID, Provider: message.Receipt.Provider, Type: message.Type, Of: of, Matches: matches,
		OK: r.Kind == delivery.OK, Code: r.Code, Error: r.Error, MS: int(r.Took.Milliseconds()), Answer: r.Answer,
		Findings: failed,
	}, nil
}

func (t *Trials) target(ctx context.Context, subscription string) (delivery.Target, error) {
	s, err := t.Store.Subscription(ctx, subscription)
	if err != nil {
		return delivery.Target{}, err
	}
	return t.Store.Target(ctx, s.ID)
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
		DestinationID: target.Destination.ID, QueuedAt: time.Now(), HasOwnID: true,
	}
	return t.sender(target).Send(ctx, target, job, m)
}

func (t *Trials) sender(target delivery.Target) Sender {
	switch {
	case target.Destination.HTTP != nil:
		return t.HTTP
	case target.Destination.Broker() != nil:
		return t.Queues
	}
	return t.Temporal
}

// message returns the event to send and its description. failed are the samples that couldn't be built.
func (t *Trials) message(
	ctx context.Context, target delivery.Target, which Choice,
) (m delivery.Message, of string, failed []delivery.Finding, err error) {
	if which.EventID == "" {
		e := target.Subscription.Events
		if which.Provider != "" {
			e.Providers = []string{which.Provider}
		}
		if which.Type != "" {
			e.Types = []string{which.Type}
		}
		all, err := t.Samples.All(e)
		if err != nil {
			return m, "", nil, err
		}
		if len(all) == 0 {
			return m, "", nil, event.Rejectf("invalid_event", "no definition has a sample of such an event: name a stored event")
		}
		tried, err := t.trySamples(ctx, target, all)
		return tried.best(), "sample", tried.failures(), err
	}
	m, err = t.stored(ctx, which.EventID)
	return m, "event " + which.EventID, nil, err
}

func (t *Trials) stored(ctx context.Context, eventID string) (delivery.Message, error) {
	found, _, err := t.Store.Messages(ctx, []string{eventID}, maxBody)
	if err != nil {
		return delivery.Message{}, err
	}
	m, ok := found[eventID]
	if !ok {
		return m, fmt.Errorf("read event %s: %w", eventID, event.ErrNotFound)
	}
	return m, nil
}

// maxBody is in bytes: more than an event can have.
const maxBody = 32 << 20

// wants reports whether the subscription, if active, would deliver the message.
func wants(ctx context.Context, s delivery.Subscription, m delivery.Message) (bool, error) {
	s.Active = true
	router := delivery.NewRouter()
	router.Put(s)
	hits, err := router.Match(ctx, m)
	return len(hits) > 0 && !hits[0].Failed, err
}

// Check examines a subscription without sending anything: which samples its filter matches, whether those can be put into its
// form, and the state of its destination. A stored event, or a body, replaces the samples.
func (t *Trials) Check(ctx context.Context, subscription string, which Choice) ([]delivery.Finding, error) {
	target, err := t.target(ctx, subscription)
	if err != nil {
		return nil, err
	}
	found, sample, err := t.checkEvents(ctx, target, which)
	if err != nil {
		return nil, err
	}
	if target.Destination.HTTP != nil {
		return append(found, checkSecrets(target)), nil
	}
	if target.Destination.Broker() != nil {
		ctx, cancel := context.WithTimeout(ctx, time.Duration(delivery.DefaultTimeout))
		defer cancel()
		return append(found, t.LookAtQueue(ctx, target)...), nil
	}
	more, err := t.Look(ctx, target, sample)
	return append(found, more...), err
}

// checkEvents tries the examples, or all samples, and returns one of them for further checks; nil if there is none.
func (t *Trials) checkEvents(
	ctx context.Context, target delivery.Target, which Choice,
) ([]delivery.Finding, *delivery.Message, error) {
	all, err := t.examples(ctx, target.Subscription.Events, which)
	if err != nil {
		return nil, nil, err
	}
	if len(all) == 0 {
		return []delivery.Finding{t.Samples.none(target.Subscription.Events)}, nil, nil
	}
	tried, err := t.trySamples(ctx, target, all)
	tried.chosen = which.isExample()
	best := tried.best()
	return append(tried.findings(), filterCost(ctx, target.Subscription.Events, best)...), &best, err
}

func (t *Trials) examples(ctx context.Context, e delivery.Events, which Choice) ([]delivery.Message, error) {
	switch {
	case which.EventID != "":
		m, err := t.stored(ctx, which.EventID)
		return []delivery.Message{m}, err
	case which.Body != nil:
		return t.Samples.Of(e, which)
	}
	return t.Samples.All(e)
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
