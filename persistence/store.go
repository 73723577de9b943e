package persistence

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Store is all that can be asked of the database, and written to it. It is safe for concurrent use.
type Store struct {
	db    *DB
	group *group
	// every is how many changes there are from one checkpoint of an entity to the next.
	every int64
}

// Open makes a Store. It does not connect: the database may be down at start, and come and go afterwards. The only
// error is a URL that cannot be read, or asks for what cannot work.
func Open(ctx context.Context, cfg Config) (*Store, error) {
	db, err := open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s := &Store{db: db, every: linksPerCheckpoint}
	s.group = newGroup(s)
	return s, nil
}

// Pool is the pool behind the store, for its metrics only.
func (s *Store) Pool() *pgxpool.Pool { return s.db.Pool }

// Ping says whether the database answers.
func (s *Store) Ping(ctx context.Context) error { return s.db.Ping(ctx) }

// Pooling looks at two connections at a time: if both are answered by the same process, they share it.
func (s *Store) Pooling(ctx context.Context) (Pooling, error) { return s.db.Pooling(ctx) }

// Close waits for the connections in use and closes them all.
func (s *Store) Close() { s.db.Close() }
