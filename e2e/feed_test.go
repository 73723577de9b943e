package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// told is a change of the feed.
type told struct {
	Subject, Action, ID string
	Revision            int64
}

// reader follows the feed, and resumes after its last change whenever its connection ends.
type reader struct {
	url atomic.Pointer[string] // of the operator process to which it reconnects

	mu       sync.Mutex
	changes  []told
	place    string
	returned int
}

// follow reads until ctx ends. It drops its connection after some changes, like a killed reader.
func (r *reader) follow(ctx context.Context) {
	for ctx.Err() == nil {
		one, cancel := context.WithCancel(ctx)
		r.read(one, 1+len(r.seen())%40)
		cancel()
		r.mu.Lock()
		r.returned++
		r.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (r *reader) read(ctx context.Context, most int) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, *r.url.Load()+"/changes?after=start", nil)
	if err != nil {
		return
	}
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Last-Event-ID", r.place)
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return
	}
	id := ""
	for lines := bufio.NewScanner(response.Body); most > 0 && lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ": ")
		switch name {
		case "id":
			id = value
		case "data":
			var c told
			if json.Unmarshal([]byte(value), &c) != nil {
				return
			}
			r.mu.Lock()
			r.changes, r.place = append(r.changes, c), id
			r.mu.Unlock()
			most--
		}
	}
}

func (r *reader) seen() []told {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.changes)
}

// Workers, and the process that serves the feed, are killed under load, and a reader reconnects repeatedly:
//   - it sees each processed event once
//   - it sees each revision of each entity once, without gaps, up to the current one
func TestAReaderOfTheFeedMissesNothing(t *testing.T) {
	t.Parallel()
	const events, customers = 120, 5
	i := newInstallation(t)
	door, desk := i.start(t, "ingress"), i.start(t, "operator")
	worker := i.start(t, "worker")
	r := &reader{}
	r.url.Store(&desk.operator)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { r.follow(ctx); close(done) }()
	t.Cleanup(func() { cancel(); <-done })

	run := uniqueID("evt")
	for n := range events {
		body := customerUpdated(fmt.Sprintf("%s_%d", run, n), fmt.Sprintf("cus_%s_%d", run, n%customers), fmt.Sprint(n), time.Now())
		require.Equal(t, 202, door.send(t, body).status)
		switch n {
		case events / 4:
			worker.kill()
			worker = i.start(t, "worker")
		case events / 2:
			desk.kill()
			desk = i.start(t, "operator")
			r.url.Store(&desk.operator)
		case events * 3 / 4:
			i.launch(t, "worker")
			worker.kill()
		}
	}
	i.awaitCount(t, 2*time.Minute, events, processedEvents)
	i.awaitCount(t, time.Second, customers, "SELECT count(*) FROM entities")

	eventually(t, time.Minute, "the reader has seen everything", func() error { return i.compare(t, r.seen(), events) })
	require.Greater(t, r.returned, 3)
}

// compare returns what a reader lacks, or has twice.
func (i *installation) compare(t *testing.T, seen []told, events int) error {
	t.Helper()
	processed, revisions := map[string]int{}, map[string][]int64{}
	for _, c := range seen {
		switch {
		case c.Subject == "event" && c.Action == "processed":
			processed[c.ID]++
		case c.Subject == "entity":
			revisions[c.ID] = append(revisions[c.ID], c.Revision)
		}
	}
	if len(processed) < events {
		return fmt.Errorf("%d of %d events", len(processed), events)
	}
	for id, n := range processed {
		require.Equal(t, 1, n, id)
	}
	for id, all := range revisions {
		slices.Sort(all)
		for n, revision := range all {
			require.Equal(t, all[0]+int64(n), revision, "revision %d of %s", n, id)
		}
		if i.count(t, "SELECT count(*) FROM entities WHERE external_id = $1 AND revision = $2", id, all[len(all)-1]) != 1 {
			return fmt.Errorf("the last revision of %s", id)
		}
	}
	return nil
}
