package baseline

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/valyala/fasthttp"
)

// The handler's table is like the product's inbox: the same columns and indexes.
const (
	makeTable = `
CREATE TABLE IF NOT EXISTS inbox (
    workflow_id text PRIMARY KEY,
    seq         bigint GENERATED ALWAYS AS IDENTITY,
    event_id    uuid NOT NULL,
    lane        text NOT NULL,
    provider    text NOT NULL,
    receipt     bytea NOT NULL,
    raw_body    bytea NOT NULL,
    reject      boolean NOT NULL,
    received_at timestamptz NOT NULL,
    attempts    integer NOT NULL DEFAULT 0,
    last_error  text,
    due_at      timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS inbox_by_arrival ON inbox (lane, seq)`

	insertRows = `
INSERT INTO inbox (workflow_id, event_id, lane, provider, receipt, raw_body, reject, received_at)
SELECT id::text, id, 'overflow', 'stripe', receipt, body, false, now()
  FROM unnest($1::uuid[], $2::bytea[], $3::bytea[]) AS r(id, receipt, body)
    ON CONFLICT (workflow_id) DO NOTHING`
)

// receiptSize is about the size of the product's receipt of an event without the body, in bytes.
const receiptSize = 450

// writers is the number of concurrent inserts: the next group gathers while one is written.
const writers = 2

// Handler serves any POST at a free port, which it prints, until the context ends: it commits the body to a table, grouped with
// concurrent requests, and answers. It verifies and parses nothing.
func Handler(ctx context.Context, database string, out io.Writer) error {
	config, err := pgxpool.ParseConfig(database)
	if err != nil {
		return err
	}
	config.MaxConns = writers
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	if _, err := pool.Exec(ctx, makeTable); err != nil {
		return err
	}
	rows := make(chan *row, 4096)
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() { write(pool, rows) })
	}
	err = serve(ctx, func(c *fasthttp.RequestCtx) { handle(c, rows) }, out)
	close(rows)
	writing.Wait()
	return err
}

// serve serves at a free port, which it prints, until the context ends.
func serve(ctx context.Context, handler fasthttp.RequestHandler, out io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &fasthttp.Server{Handler: handler}
	go func() {
		<-ctx.Done()
		_ = server.Shutdown()
		_ = listener.Close() // fasthttp leaves it open if it hadn't begun
	}()
	fmt.Fprintln(out, "http://"+listener.Addr().String())
	return server.Serve(listener)
}

// row is a request that waits for its commit.
type row struct {
	id            uuid.UUID
	receipt, body []byte
	done          chan error
}

func handle(c *fasthttp.RequestCtx, rows chan<- *row) {
	r := &row{
		id: uuid.Must(uuid.NewV7()), receipt: make([]byte, receiptSize), body: append([]byte(nil), c.PostBody()...),
		done: make(chan error, 1),
	}
	rows <- r
	if err := <-r.done; err != nil {
		c.SetStatusCode(fasthttp.StatusServiceUnavailable)
		return
	}
	c.SetStatusCode(fasthttp.StatusAccepted)
	c.SetBodyString(`{"ok":true}`)
}

// write commits all waiting rows in one statement.
func write(pool *pgxpool.Pool, rows <-chan *row) {
	for first := range rows {
		group := []*row{first}
	gather:
		for len(group) < 500 {
			select {
			case next, ok := <-rows:
				if !ok {
					break gather
				}
				group = append(group, next)
			default:
				break gather
			}
		}
		err := insert(pool, group)
		for _, r := range group {
			r.done <- err
		}
	}
}

func insert(pool *pgxpool.Pool, group []*row) error {
	ids, receipts, bodies := make([]uuid.UUID, len(group)), make([][]byte, len(group)), make([][]byte, len(group))
	for i, r := range group {
		ids[i], receipts[i], bodies[i] = r.id, r.receipt, r.body
	}
	_, err := pool.Exec(context.Background(), insertRows, ids, receipts, bodies)
	return err
}
