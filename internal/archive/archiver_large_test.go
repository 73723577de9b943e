package archive_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/event/operation"
	"holdfast/event/retention"
	"holdfast/internal/archive"
	"holdfast/persistence"
)

// openCounted is a store whose answers from PostgreSQL are counted, in bytes.
func openCounted(t *testing.T) (store *persistence.Store, read *atomic.Int64) {
	t.Helper()
	address, err := url.Parse(cluster.Database(t))
	require.NoError(t, err)
	server := address.Host
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	read = &atomic.Int64{}
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", server)
			if err != nil {
				_ = from.Close()
				return
			}
			go func() { _, _ = io.Copy(to, from); _ = to.Close() }()
			go func() { _, _ = io.Copy(counting{from, read}, to); _ = from.Close() }()
		}
	}()
	address.Host = listener.Addr().String()
	store, err = persistence.Open(t.Context(), persistence.Config{URL: address.String(), MaxConns: 5})
	require.NoError(t, err)
	t.Cleanup(store.Close)
	return store, read
}

type counting struct {
	io.Writer

	n *atomic.Int64
}

func (c counting) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return c.Writer.Write(p)
}

// A purge reads what it writes, and nothing that only the next file has room for.
func TestAPurgeOfLargeBodiesReadsEachOnce(t *testing.T) {
	store, read := openCounted(t)
	const rows, size = 20, 1 << 20
	for n := range rows {
		body := fmt.Appendf(nil, `{"id":"evt_%d","type":"customer.updated","object":"event","created":%d,"data":{"object":`+
			`{"id":"cus_1","object":"customer"}},"filler":"%s"}`, n, longAgo.Unix(), bytes.Repeat([]byte("x"), size))
		process(t, store, receiptAt(n), body)
	}
	letter := died(t, store, receiptAt(rows), bytes.Repeat([]byte("{"), size))
	require.NoError(t, store.DeadLetters.DiscardDeadLetter(t.Context(), letter.ID, by))
	archiver := &archive.Archiver{Store: store.Upkeep, Bucket: buckets(t)["folder"]}
	read.Store(0)
	n, err := archiver.PurgeBatch(t.Context(), retention.Events, time.Now())
	require.NoError(t, err)
	require.EqualValues(t, 15, n) // each is a little larger than 1 MiB
	require.Less(t, read.Load(), int64(18<<20))
	require.Equal(t, rows-n, purge(t, archiver, retention.Events))
	require.EqualValues(t, 1, purge(t, archiver, retention.DeadLetters))
	require.Less(t, read.Load(), int64((rows+3)*size))
	all := lines(t, archiver.Bucket)
	require.Len(t, all, rows+1)

	fresh, read := openCounted(t)
	id := operation.NewID()
	for n, l := range all {
		require.NoError(t, fresh.Imports.StageImport(t.Context(), id, n == 0, l.Items))
	}
	_, err = fresh.Imports.Create(t.Context(), operation.Import{Base: operation.Base{ID: id, Rate: 50}, Name: "archive"}, by)
	require.NoError(t, err)
	read.Store(0)
	i, err := fresh.Imports.Page(t.Context(), id, 100, parse)
	require.NoError(t, err)
	require.EqualValues(t, 15, i.Read) // as of a purge
	require.Less(t, read.Load(), int64(18<<20))
}
