package phases

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/suite"
	"holdfast/delivery"
	"holdfast/event"
	"holdfast/persistence"
)

// pagesGrow is how many times as many pages the same work may read with a hundred times the rows. An index is then at most one
// level deeper: a row is found in four pages rather than three.
const pagesGrow = 1.5

// Pages are counted in rounds of some events each, of which the median counts.
const (
	pageRounds = 40
	roundSize  = 10
)

// pages has the pages that each kind of work has read, a sample for each time.
type pages map[string][]float64

// count adds the pages that f reads for each of n.
func (s *bench) count(ctx context.Context, database string, into pages, name string, n int, f func() error) error {
	before, err := s.Lab.Pages(ctx, database)
	if err != nil {
		return err
	}
	if err := f(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	after, err := s.Lab.Pages(ctx, database)
	into[name] = append(into[name], float64(after-before)/float64(n))
	return err
}

// comparePages adds a figure for each kind of work.
func (s *bench) comparePages(names []string, small, full pages) {
	for _, name := range names {
		was, is := figures.Median(small[name]), figures.Median(full[name])
		s.Value("pages of "+name+", full / small database", "", figures.AtMost(pagesGrow), is/max(was, 1))
		s.Value("pages of "+name+", full database", "", nil, is)
	}
}

// The work on each event, by this process alone: nothing else uses the databases.
const (
	persistPages = "persist"
	leasePages   = "lease"
	settlePages  = "settle"
)

func (s *bench) comparePagesOfEvents(ctx context.Context, small, full lab.Past) error {
	s.Say("  counting pages")
	ofSmall, err := s.pagesOfEvents(ctx, smallDatabase, small)
	if err != nil {
		return err
	}
	ofFull, err := s.pagesOfEvents(ctx, fullDatabase, full)
	s.comparePages([]string{persistPages, leasePages, settlePages}, ofSmall, ofFull)
	return err
}

func (s *bench) pagesOfEvents(ctx context.Context, database string, h lab.Past) (all pages, err error) {
	store, err := s.openStore(database)
	if err != nil {
		return nil, err
	}
	defer store.Close()
	if err := s.pagesOfRound(ctx, store, database, h, 0, pages{}); err != nil { // it reads the catalog
		return nil, err
	}
	all = pages{}
	for round := range pageRounds {
		if err := s.pagesOfRound(ctx, store, database, h, round, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// pagesOfRound stores some events, leases their deliveries and settles them as delivered.
func (s *bench) pagesOfRound(
	ctx context.Context, store *persistence.Store, database string, h lab.Past, round int, all pages,
) error {
	err := s.count(ctx, database, all, persistPages, roundSize, func() error {
		for i := range roundSize {
			entity := (round*roundSize + i) * h.Entities / (pageRounds * roundSize)
			if err := persistOne(ctx, store, entity); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	var jobs []delivery.Job
	err = s.count(ctx, database, all, leasePages, roundSize, func() (err error) {
		jobs, _, err = store.Outbox.Lease(ctx, delivery.LeaseRequest{Limit: roundSize})
		return err
	})
	if err != nil {
		return err
	}
	if len(jobs) != roundSize {
		return fmt.Errorf("of %d deliveries %d were leased", roundSize, len(jobs))
	}
	return s.count(ctx, database, all, settlePages, roundSize, func() error {
		done := make([]delivery.Outcome, len(jobs))
		for i, j := range jobs {
			done[i] = delivery.Outcome{Job: j, Result: delivery.Result{Kind: delivery.OK, Code: "200", At: time.Now()}}
		}
		_, err := store.Outbox.Settle(ctx, done)
		return err
	})
}

func persistOne(ctx context.Context, store *persistence.Store, entity int) error {
	r := event.Receipt{
		ID: uuid.Must(uuid.NewV7()).String(), Provider: suite.Stripe, Key: "evt_" + uuid.NewString(), KeyFrom: event.KeyFromEvent,
		Type: suite.EventType, ReceivedAt: time.Now().UTC(),
	}
	id := fmt.Sprintf("cus_old%d", entity)
	parsed := event.Parsed{
		Type: suite.EventType, OccurredAt: r.ReceivedAt, Outcome: event.OutcomeProcessed, Changes: []event.Change{{
			Kind: "customer", ExternalID: id, Op: event.OpSnapshot, State: json.RawMessage(`{"name":"Ada Lovelace","balance":1}`),
		}},
	}
	body := fmt.Appendf(nil, `{"id":%q,"type":%q,"padding":%q,"data":{"object":{"id":%q}}}`, r.Key, suite.EventType,
		strings.Repeat("x", suite.BodySize-100), id)
	run := event.Run{WorkflowID: r.WorkflowID(), RunID: uuid.NewString()}
	stored, err := store.Writer.Write(ctx, event.WholeEvent, r, body, parsed, run)
	if err == nil && !stored.Processed {
		err = fmt.Errorf("event %s was not stored", r.ID)
	}
	return err
}

// listPages are the console's lists and other pages that operators often open. The API's answer is
// what `holdfast event show` reads.
var listPages = []struct{ name, path string }{
	{"the list of events", "/console/events"},
	{"the list of events of a type", "/console/events?type=customer.updated"},
	{"the list of events of a key", "/console/events?provider=stripe&key={key}"},
	{"the list of events of an entity", "/console/events?provider=stripe&entity_kind=customer&entity_id={entity}"},
	{"the list of events with a failed delivery", "/console/events?delivery_status=failed"},
	{"the list of deliveries", "/console/deliveries"},
	{"the list of failed deliveries", "/console/deliveries?status=failed"},
	{"the list of deliveries that wait", "/console/deliveries?status=pending"},
	{"dead letters by cause", "/console/dead-letters"},
	{"the list of dead letters", "/console/dead-letters/list"},
	{"the list of entities", "/console/entities"},
	{"an entity", "/console/entities/stripe/customer/{entity}"},
	{"an event in the console", "/console/events/{event}"},
	{"event show", "/events/{event}"},
}

// comparePagesOfLists requests pages from both products, which do nothing else meanwhile than look at their queues.
func (s *bench) comparePagesOfLists(ctx context.Context, small, grown *outlet, full lab.Past) error {
	var names []string
	for _, p := range listPages {
		names = append(names, p.name)
	}
	ofSmall, err := s.pagesOfLists(ctx, small, full)
	if err != nil {
		return err
	}
	ofFull, err := s.pagesOfLists(ctx, grown, full)
	s.comparePages(names, ofSmall, ofFull)
	return err
}

func (s *bench) pagesOfLists(ctx context.Context, o *outlet, full lab.Past) (pages, error) {
	if err := suite.Rest(ctx); err != nil {
		return nil, err
	}
	of, err := s.storedEvent(ctx, o.Database, full)
	if err != nil {
		return nil, err
	}
	all := pages{}
	for range pageRounds / 4 {
		for _, p := range listPages {
			err := s.count(ctx, o.Database, all, p.name, 1, func() error {
				_, err := o.Node.Get(ctx, o.Node.Operator+of.Replace(p.path))
				return err
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// storedEvent returns what replaces the placeholders of paths: the names of an event that both databases have.
func (s *bench) storedEvent(ctx context.Context, database string, full lab.Past) (*strings.Replacer, error) {
	conn, err := pgx.Connect(ctx, s.Lab.Postgres.URL(database))
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	from := event.FirstIDAt(full.At(full.Events - full.Events/growthShorter/2))
	var id, key, entity string
	err = conn.QueryRow(ctx, `
SELECT e.id::text, e.key, l.external_id FROM events AS e JOIN event_entities AS l ON l.event_id = e.id
 WHERE e.id >= $1::uuid ORDER BY e.id LIMIT 1`, from).Scan(&id, &key, &entity)
	return strings.NewReplacer("{event}", id, "{key}", key, "{entity}", entity), err
}
