package persistence_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event"
	"holdfast/persistence"
	"holdfast/persistence/persistencetest"
)

func TestSessionsAreBounded(t *testing.T) {
	t.Parallel()
	db := open(t, func(c *persistence.Config) {
		c.StatementTimeout, c.LockTimeout, c.ApplicationName = 7*time.Second, 3*time.Second, "holdfast-test"
	})
	for setting, want := range map[string]string{
		"statement_timeout": "7s", "lock_timeout": "3s", "idle_in_transaction_session_timeout": "7s",
		"application_name": "holdfast-test",
	} {
		got, err := db.Show(t.Context(), setting)
		require.NoError(t, err)
		require.Equal(t, want, got, setting)
	}
}

// Round trips are most of an event's time in the database, and its locks are held as long.
func TestRoundTripsOfAnEvent(t *testing.T) {
	t.Parallel()
	wire := &wiretap{server: persistencetest.Cluster.Database(t)}
	store, err := persistence.Open(t.Context(), persistence.Config{URL: wire.listen(t), MaxConns: 1})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	trips := func(do func() error) int64 {
		before := wire.trips.Load()
		require.NoError(t, do())
		return wire.trips.Load() - before
	}
	process := func(occurred time.Time) (persist, upsert int64) {
		r, p := receipt(), parsed(patch("a", `{"n":1}`), snapshot("b", `{"n":2}`))
		p.OccurredAt = occurred
		persist = trips(func() error {
			_, err := store.Writer.Write(t.Context(), event.RowOnly, r, body, p, runOf(r))
			return err
		})
		upsert = trips(func() error {
			_, err := store.Writer.Write(t.Context(), event.EntitiesOnly, r, nil, p, runOf(r))
			return err
		})
		return persist, upsert
	}
	process(noon)                   // prepares the statements
	process(noon.Add(-time.Minute)) // and those of an out-of-order event
	persist, upsert := process(noon.Add(time.Hour))
	require.EqualValues(t, 2, persist)
	require.EqualValues(t, 2, upsert)
	once := func() error {
		r := receipt()
		p := parsed(patch("a", `{"n":1}`), snapshot("b", `{"n":2}`))
		p.OccurredAt = time.Now()
		_, err := store.Writer.Write(t.Context(), event.WholeEvent, r, body, p, runOf(r))
		return err
	}
	require.NoError(t, once()) // prepares the statements
	require.EqualValues(t, 2, trips(once))
	_, late := process(noon.Add(-time.Hour))
	require.EqualValues(t, 3, late)

	r := receipt()
	require.NoError(t, store.DeadLetters.RecordDeadLetter(t.Context(), deadLetter(r))) // prepares the statements
	require.EqualValues(t, 2, trips(func() error { return store.DeadLetters.RecordDeadLetter(t.Context(), died(r, noon)) }), "its key comes first")
	_, err = store.DeadLetters.DeadLetterOfEvent(t.Context(), r.ID)
	require.NoError(t, err)
}

// wiretap is a proxy in front of PostgreSQL that counts how often the server is ready and waits for the client, and
// what it sends. While cuts is set
// it closes a connection instead of forwarding the response to a commit.
type wiretap struct {
	server   string
	trips    atomic.Int64
	received atomic.Int64 // bytes from the server
	sent     atomic.Int64 // bytes to the server
	cuts     atomic.Bool
}

// listen returns the URL to connect to instead of the server's.
func (w *wiretap) listen(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	u, err := url.Parse(w.server)
	require.NoError(t, err)
	server := u.Host
	u.Host = listener.Addr().String()
	query := u.Query()
	query.Set("sslmode", "disable")
	u.RawQuery = query.Encode()
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go w.forward(client, server)
		}
	}()
	return u.String()
}

// counter counts what is written to it.
type counter atomic.Int64

func (c *counter) Write(p []byte) (int, error) {
	(*atomic.Int64)(c).Add(int64(len(p)))
	return len(p), nil
}

func (w *wiretap) forward(client net.Conn, address string) {
	defer client.Close()
	server, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer server.Close()
	go func() { _, _ = io.Copy(io.MultiWriter(server, (*counter)(&w.sent)), client); _ = server.Close() }()
	answers := bufio.NewReader(server)
	for {
		header, err := answers.Peek(5) // type, length
		if err != nil {
			return
		}
		message := make([]byte, 1+binary.BigEndian.Uint32(header[1:]))
		if _, err := io.ReadFull(answers, message); err != nil {
			return
		}
		w.received.Add(int64(len(message)))
		if message[0] == 'Z' { // ReadyForQuery
			w.trips.Add(1)
		}
		if w.cuts.Load() && message[0] == 'C' && bytes.HasPrefix(message[5:], []byte("COMMIT")) {
			return
		}
		if _, err := client.Write(message); err != nil {
			return
		}
	}
}
