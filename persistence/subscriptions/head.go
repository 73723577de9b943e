package subscriptions

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/singleflight"

	"holdfast/delivery"
	"holdfast/persistence/outbox"
	"holdfast/persistence/postgres"
)

const (
	// HeadVersion is outbox.HeadVersion, for the writer, which doesn't import the outbox.
	HeadVersion = outbox.HeadVersion

	readHead = `SELECT ` + HeadVersion

	// raiseHead is the first statement of every transaction that changes one of them, and makes the next one wait for its end.
	raiseHead = `UPDATE subscriptions_head SET version = version + 1 WHERE one RETURNING version`

	// changedDestinations and changedSubscriptions select what has changed since a version; since 0, only what is not deleted.
	changedDestinations = `
SELECT id, name, settings, version, secrets, headers, client_key, deleted_at IS NOT NULL FROM destinations
 WHERE version > $1 AND ($1 > 0 OR deleted_at IS NULL)`

	changedSubscriptions = `
SELECT s.id, s.name, s.settings, s.version, s.destination_id, s.active, d.name, s.deleted_at IS NOT NULL
  FROM subscriptions AS s JOIN destinations AS d ON d.id = s.destination_id
 WHERE s.version > $1 AND ($1 > 0 OR s.deleted_at IS NULL)`
)

// cache holds the destinations and subscriptions as of a version. Its lock is never held during a query.
type cache struct {
	router *delivery.Router

	mu            sync.RWMutex
	read          bool
	version       int64
	destinations  map[int64]destination
	subscriptions map[int64]delivery.Subscription
	// unreadable holds the names of subscriptions that this version of Holdfast can't read, by ID.
	unreadable map[int64]string
	// variables are the listed ones.
	variables map[string]bool
}

// destination is a destination with its secrets, header values and key of the client certificate as stored.
type destination struct {
	delivery.Destination

	secrets, headers, clientKey []byte
	// err is why its settings can't be read.
	err error
}

func newCache() *cache {
	return &cache{
		router: delivery.NewRouter(), destinations: map[int64]destination{}, subscriptions: map[int64]delivery.Subscription{},
		unreadable: map[int64]string{},
	}
}

func (k *cache) at() int64 {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.version
}

func (k *cache) isRead() bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.read
}

// update holds what has changed since a version. It may include changes made after the head was read; these are read again.
type update struct {
	since, head int64
	// isReset means that the cache belongs to a history that a failover or a restored dump has replaced. The update is then
	// complete.
	isReset       bool
	destinations  []destination
	subscriptions []delivery.Subscription
	unreadable    map[int64]string
	// variables are all listed ones.
	variables map[string]bool
	// goneDestinations and goneSubscriptions were deleted, or can't be read.
	goneDestinations, goneSubscriptions []int64
}

// apply applies an update, unless the cache is as new.
func (k *cache) apply(c *update) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.read = true; !c.isReset && (c.head <= k.version || c.since > k.version) {
		return
	}
	if c.isReset {
		c.goneSubscriptions = append(c.goneSubscriptions, slices.Collect(maps.Keys(k.subscriptions))...)
		clear(k.unreadable)
		clear(k.destinations)
	}
	routes := make([]delivery.Subscription, 0, len(c.goneSubscriptions)+len(c.subscriptions))
	for _, id := range c.goneSubscriptions {
		delete(k.subscriptions, id)
		delete(k.unreadable, id)
		routes = append(routes, delivery.Subscription{ID: id}) // an inactive one
	}
	for _, s := range c.subscriptions {
		k.subscriptions[s.ID] = s
		delete(k.unreadable, s.ID)
	}
	k.router.Put(append(routes, c.subscriptions...)...)
	maps.Copy(k.unreadable, c.unreadable)
	for _, id := range c.goneDestinations {
		delete(k.destinations, id)
	}
	for _, d := range c.destinations {
		k.destinations[d.ID] = d
	}
	k.version, k.variables = c.head, c.variables
}

func timelineOf(version int64) int64 { return version >> 40 }

// withoutTimeline returns a version as stored in the tables.
func withoutTimeline(version int64) int64 { return version & (1<<40 - 1) }

func queueChanges(b *pgx.Batch, since int64) *update {
	c := &update{since: since, unreadable: map[int64]string{}, variables: map[string]bool{}}
	b.Queue(readHead).QueryRow(func(row pgx.Row) error { return row.Scan(&c.head) })
	var name string
	b.Queue(listVariables).Query(postgres.ForEach([]any{&name}, func() { c.variables[name] = true }))
	b.Queue(changedDestinations, withoutTimeline(since)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := c.scanDestination(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	b.Queue(changedSubscriptions, withoutTimeline(since)).Query(func(rows pgx.Rows) error {
		for rows.Next() {
			if err := c.scanSubscription(rows); err != nil {
				return err
			}
		}
		return rows.Err()
	})
	return c
}

func (c *update) scanDestination(row pgx.Row) error {
	var d destination
	var gone bool
	if err := scanDestination(row, &d, &gone); err != nil {
		return err
	}
	if gone {
		c.goneDestinations = append(c.goneDestinations, d.ID)
	} else {
		c.destinations = append(c.destinations, d)
	}
	return nil
}

// scanSubscription continues after an unreadable row, since an invalid row must not stop events. The subscription gets no
// deliveries.
func (c *update) scanSubscription(row pgx.Row) error {
	var s delivery.Subscription
	var gone bool
	unreadable, err := scanSubscription(row, &s, &gone)
	switch {
	case err != nil:
		return err
	case gone:
		c.goneSubscriptions = append(c.goneSubscriptions, s.ID)
	case unreadable != nil:
		c.goneSubscriptions = append(c.goneSubscriptions, s.ID)
		c.unreadable[s.ID] = s.Name
	default:
		c.subscriptions = append(c.subscriptions, s)
	}
	return nil
}

// follow updates the cache from the database, through send. seen is a version that was read before.
func (s *Store) follow(ctx context.Context, send func(context.Context, *pgx.Batch) error, seen int64) error {
	b := &pgx.Batch{}
	c := queueChanges(b, seen)
	if err := send(ctx, b); err != nil {
		return err
	}
	if c.head < seen || seen > 0 && timelineOf(c.head) != timelineOf(seen) {
		b = &pgx.Batch{}
		c = queueChanges(b, 0)
		if err := send(ctx, b); err != nil {
			return err
		}
		c.isReset = true
	}
	s.cache.apply(c)
	return nil
}

// Refresh updates the cache from the database: one statement if nothing has changed.
func (s *Store) Refresh(ctx context.Context) error {
	seen := s.cache.at()
	var head int64
	if err := s.db.QueryRow(ctx, readHead).Scan(&head); err != nil {
		return postgres.Failure("read version of subscriptions", err)
	}
	if head == seen && s.cache.isRead() {
		return nil
	}
	return postgres.Failure("read subscriptions", s.follow(ctx, s.db.SendRead, seen))
}

// Unreadable returns the names of subscriptions that this version of Holdfast can't read. They get no deliveries until they are
// applied again; a resend delivers what they have missed.
func (s *Store) Unreadable(ctx context.Context) ([]string, error) {
	if err := s.Refresh(ctx); err != nil {
		return nil, err
	}
	s.cache.mu.RLock()
	defer s.cache.mu.RUnlock()
	return slices.Sorted(maps.Values(s.cache.unreadable)), nil
}

// Config configures a Store. Its zero value stores secrets in clear, and resolves no variables.
type Config struct {
	Sealer  Sealer
	Secrets func(name string) []string
	// Reserved reports whether a variable is Holdfast's own; nil reserves none.
	Reserved func(name string) bool
}

// Sealer encrypts secrets, and decrypts them.
type Sealer = postgres.Sealer

// Store stores destinations and subscriptions. It is safe for concurrent use.
type Store struct {
	db     *postgres.DB
	outbox *outbox.Store
	cfg    Config
	cache  *cache
	looks  singleflight.Group
	// reserver is nil while this process delivers nothing.
	reserver atomic.Pointer[delivery.Reserver]

	// Budget begins a time for filters, and reports whether it is over. Tests replace it.
	Budget func(limit time.Duration) (isSpent func() bool)
}

// New makes a Store that queues deliveries with o.
func New(db *postgres.DB, o *outbox.Store, cfg Config) *Store {
	o.OrderKey = orderKeyOf
	return &Store{db: db, outbox: o, cfg: cfg, cache: newCache(), Budget: timer}
}
