package importer

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"holdfast/delivery"
	"holdfast/internal/cli"
	"holdfast/internal/movein"
	"holdfast/operator/api"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/httpapi"
)

// lines writes events in the format of import files.
type lines struct{ to *json.Encoder }

func newLines(w io.Writer) lines {
	l := lines{json.NewEncoder(w)}
	l.to.SetEscapeHTML(false)
	return l
}

// publishedEvent is an event as a publisher would send it to the provider "events".
type publishedEvent struct {
	ID       string          `json:"id"`
	Type     string          `json:"type"`
	Source   string          `json:"source"`
	Time     time.Time       `json:"time"`
	Channels []string        `json:"channels,omitempty"`
	Data     json.RawMessage `json:"data"`
}

type eventLine struct {
	Record     string    `json:"record"`
	Provider   string    `json:"provider"`
	ReceivedAt time.Time `json:"received_at"`
	Attempts   int       `json:"attempts,omitempty"`
	Body       string    `json:"body"`
}

func (l lines) write(e movein.Event) error {
	var body bytes.Buffer
	text := json.NewEncoder(&body)
	text.SetEscapeHTML(false)
	if err := text.Encode(publishedEvent{e.ID, e.Type, e.Source, e.At, e.Channels, e.Data}); err != nil {
		return fmt.Errorf("event %s: its payload is not JSON", e.ID)
	}
	return l.to.Encode(eventLine{"event", "events", e.At, e.Attempts, body.String()})
}

// sent counts deliveries.
type sent struct {
	// Queued are new ones; Existing ones were here before.
	Queued   int64 `json:"queued"`
	Existing int64 `json:"existing"`
	// Missing counts those whose event isn't stored.
	Missing int64 `json:"not_stored,omitempty"`
	left
}

func (s sent) write(w io.Writer) error {
	fields := []string{"deliveries queued", cli.Number(s.Queued), "existing", cli.Number(s.Existing)}
	for _, one := range []struct {
		name string
		n    int64
	}{{"whose event isn't stored", s.Missing}, {"without a destination here", s.Homeless}, {"without a payload there", s.Gone}} {
		if one.n > 0 {
			fields = append(fields, one.name, cli.Number(one.n))
		}
	}
	return cli.WriteFields(w, fields...)
}

// err returns an error if a selected delivery was left out.
func (s sent) err() error {
	var errs []error
	if s.Missing > 0 {
		errs = append(errs, fmt.Errorf("%d deliveries weren't queued, because their events aren't stored: run the same command again, "+
			"without --skip-invalid", s.Missing))
	}
	if s.Homeless > 0 {
		errs = append(errs, fmt.Errorf("%d deliveries have no destination here, such as %s: the plan says why", s.Homeless, s.Name))
	}
	if s.Gone > 0 {
		errs = append(errs, fmt.Errorf("%d events have no payload any more, such as %s", s.Gone, s.Event))
	}
	return errors.Join(errs...)
}

const (
	deliveriesPerBatch = 100
	// deliveriesAtOnce is how many requests are open at a time.
	deliveriesAtOnce = 8
)

// eachBatch calls use for the selected deliveries, with the IDs of their events here.
func (m *move) eachBatch(selected movein.Selection, use func(e movein.Event, eventID string) error) error {
	var batch []movein.Event
	flush := func() error {
		ids, err := m.eventIDs(batch)
		if err != nil {
			return err
		}
		errs := make([]error, len(batch))
		open := make(chan struct{}, deliveriesAtOnce)
		var all sync.WaitGroup
		for i, e := range batch {
			open <- struct{}{}
			all.Go(func() {
				errs[i] = use(e, ids[i])
				<-open
			})
		}
		all.Wait()
		batch = batch[:0]
		return errors.Join(errs...)
	}
	err := m.events(m.c.Context(), selected, func(e movein.Event) error {
		if batch = append(batch, e); len(batch) < deliveriesPerBatch {
			return nil
		}
		return flush()
	})
	if err == nil && len(batch) > 0 {
		err = flush()
	}
	return err
}

// eventIDs returns the IDs of imported events, in their order; "" for one that isn't here.
func (m *move) eventIDs(of []movein.Event) ([]string, error) {
	ids, err := m.idsOf(of)
	if err != nil || len(ids) == len(of) {
		return ids, err
	}
	ids = make([]string, len(of)) // some are missing: ask for each
	for i := range of {
		one, err := m.idsOf(of[i : i+1])
		if err != nil {
			return nil, err
		}
		if len(one) == 1 {
			ids[i] = one[0]
		}
	}
	return ids, nil
}

func (m *move) idsOf(of []movein.Event) (ids []string, err error) {
	var text bytes.Buffer
	l := newLines(&text)
	for _, e := range of {
		if err := l.write(e); err != nil {
			return nil, err
		}
	}
	u := upload{ctx: m.c.Context(), api: m.api, mediaType: ndjson, query: map[string][]string{}, text: text.Bytes()}
	for {
		var page api.ComparedLines
		if err := u.to("/compare", &page); err != nil {
			return nil, err
		}
		ids = append(ids, page.EventIDs...)
		if page.Next == "" {
			return ids, nil
		}
		u.query.Set("cursor", page.Next)
	}
}

// send queues a delivery for each selected one that has none here.
func (m *move) send(selected movein.Selection) (done sent, err error) {
	var queued, existing, missing atomic.Int64
	err = m.eachBatch(selected, func(e movein.Event, eventID string) error {
		if eventID == "" {
			missing.Add(1)
			return nil
		}
		isNew, err := m.sendOne(eventID, e.To)
		switch {
		case err != nil:
			return fmt.Errorf("event %s to %s: %w", e.ID, e.To, err)
		case isNew:
			queued.Add(1)
		default:
			existing.Add(1)
		}
		return nil
	})
	done = sent{queued.Load(), existing.Load(), missing.Load(), m.left}
	return done, errors.Join(err, done.err())
}

// sendOne queues a delivery unless there is one. The system's own decision counts if the subscription doesn't select the event,
// whose filter may have changed since, and if the delivery was canceled here, as a roll-back does.
func (m *move) sendOne(eventID, subscription string) (isNew bool, err error) {
	path := cli.Path("deliveries", eventID, subscription, "resend")
	var answer deliveryapi.Resent
	for _, isMissing := range []bool{true, false} {
		body := struct {
			httpapi.Reasoned

			Missing bool `json:"missing,omitempty"`
		}{cli.Reasoned(m.c), isMissing}
		if err := m.api.Change(m.c.Context(), http.MethodPost, path, body, &answer); err != nil {
			return false, err
		}
		if answer.Sent || answer.Delivery != nil && answer.Delivery.Status != delivery.Canceled {
			break
		}
	}
	return answer.Sent, nil
}

// moved is how a system differs from what is here.
type moved struct {
	Endpoints int      `json:"endpoints"`
	Missing   int      `json:"missing"`
	Differ    []string `json:"differ,omitempty"`
	// Here counts selected deliveries that exist, and Undelivered those that don't.
	Here        int64 `json:"deliveries_here"`
	Undelivered int64 `json:"deliveries_missing"`
	left
}

func (r moved) write(w io.Writer) error {
	for _, name := range r.Differ {
		fmt.Fprintln(w, "differs:", cli.Printable(name))
	}
	r.left.write(w)
	return cli.WriteFields(w,
		"endpoints", cli.Number(int64(r.Endpoints)),
		"destinations and subscriptions missing here", cli.Number(int64(r.Missing)),
		"differing", cli.Number(int64(len(r.Differ))),
		"undelivered there, with a delivery here", cli.Number(r.Here),
		"undelivered there, without a delivery here", cli.Number(r.Undelivered),
	)
}

// compare reports how the system differs from what is here.
func (m *move) compare() (r moved, err error) {
	all, err := m.endpoints()
	if err != nil {
		return r, err
	}
	plan, err := m.plan(all)
	r.Endpoints, r.Missing, r.Differ = len(all), plan.Create, plan.Differ
	if err != nil || !m.sends() {
		return r, err
	}
	var here, missing atomic.Int64
	selected, _ := m.selection()
	err = m.eachBatch(selected, func(e movein.Event, eventID string) error {
		if eventID == "" {
			missing.Add(1)
			return nil
		}
		var found struct {
			Status delivery.Status `json:"status"`
		}
		err := m.api.Read(m.c.Context(), cli.Path("deliveries", eventID, e.To), nil, &found)
		var refused *cli.RefusalError
		switch {
		case err == nil && found.Status != delivery.Canceled:
			here.Add(1)
		case err == nil:
			missing.Add(1)
		case errors.As(err, &refused) && refused.Status == http.StatusNotFound:
			missing.Add(1)
		default:
			return err
		}
		return nil
	})
	r.Here, r.Undelivered, r.left = here.Load(), missing.Load()+m.left.Homeless+m.left.Gone, m.left
	return r, err
}
