package importer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"

	"holdfast/delivery"
	"holdfast/internal/cli"
	"holdfast/internal/movein"
	"holdfast/operator/api"
	"holdfast/operator/api/deliveryapi"
	"holdfast/operator/httpapi"
)

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
	}{
		{"whose event isn't stored", s.Missing}, {"without a destination here", s.NoDestination},
		{"without a payload there", s.NoPayload},
	} {
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
	if s.NoDestination > 0 {
		errs = append(errs, fmt.Errorf("%d deliveries have no destination here, such as %s: --dry-run says why",
			s.NoDestination, s.Name))
	}
	if s.NoPayload > 0 {
		errs = append(errs, fmt.Errorf("%d events weren't delivered, such as %s: their payload is deleted there", s.NoPayload, s.Event))
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
	u := upload{ctx: m.c.Context(), api: m.api, mediaType: ndjson, query: url.Values{}, text: text.Bytes()}
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
