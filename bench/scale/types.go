package scale

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"holdfast/bench/lab"
	"holdfast/bench/suite"
)

const (
	manyTypes = 10_000
	// typedName is a provider whose definition names all types.
	typedName   = "typed"
	typedHeader = "X-Typed-Token"
	typed       = `name: typed
lane: bulk
auth: [{token: {secrets: TYPED_TOKEN, in: header, name: x-typed-token}}]
type: .body.type
key: {parts: [.body.id]}
entities:
  - {kind: order, types: [%s], id: .body.order, op: patch, state: '{total: .body.total}'}
`
)

// typedPages list events, or types.
var typedPages = []string{
	"/console/events", "/console/events?provider=typed&type=type.7", "/console/providers", "/console/providers/typed", "/console",
	"/events?provider=typed&type=type.7", "/metrics",
}

// types compares events of one type with as many of as many types.
func types(ctx context.Context, s *suite.Suite) error {
	all := make([]string, manyTypes)
	for i := range all {
		all[i] = fmt.Sprint("type.", i)
	}
	dir := filepath.Join(s.Dir, "definitions-types")
	if _, err := lab.WriteDefinitions(dir, map[string]string{typedName: fmt.Sprintf(typed, strings.Join(all, ", "))}); err != nil {
		return err
	}
	environ := []string{"HOLDFAST_PROVIDERS_DIR=" + dir, "TYPED_TOKEN=" + lab.Secret}
	var one [2]usage
	var heap, metrics [2]float64
	var read, size [2][]float64
	for i, kinds := range []int{1, manyTypes} {
		err := serving(ctx, s, fmt.Sprintf("scale_types_%d", kinds), 1, 0, environ, func(w *world) (err error) {
			if err := w.sendTyped(ctx, 100, 1); err != nil {
				return err
			}
			if _, err := w.rest(ctx); err != nil {
				return err
			}
			if one[i], err = w.each(ctx, manyTypes, func() error { return w.sendTyped(ctx, manyTypes, kinds) }); err != nil {
				return err
			}
			for _, page := range typedPages {
				length := 0.0
				u, err := w.each(ctx, 1, func() error {
					raw, err := w.nodes[0].Get(ctx, w.nodes[0].Operator+page)
					length = float64(len(raw))
					return err
				})
				if err != nil {
					return err
				}
				read[i], size[i] = append(read[i], u.of[pages]), append(size[i], length)
			}
			heap[i], metrics[i], err = w.memory(ctx)
			return err
		})
		if err != nil {
			return err
		}
	}
	compare(s, "a bulk event", "10,000 types", one[0], one[1], statements, pages, wal, allocations)
	for i, kinds := range []string{"", ", 10,000 types"} {
		s.Value("live heap, MiB, one definition"+kinds, "", nil, heap[i])
		for k, page := range typedPages {
			s.Value("pages of "+page+kinds, "", nil, read[i][k])
			s.Value("bytes of "+page+kinds, "", nil, size[i][k])
		}
	}
	return nil
}

// sendTyped sends events of some types in turn, and waits until they are processed.
func (w *world) sendTyped(ctx context.Context, count, kinds int) error {
	var before int
	const processed = `SELECT count(*) FROM events WHERE status = 'processed'`
	if err := w.Lab.Ask(ctx, w.database, &before, processed); err != nil {
		return err
	}
	run, next := time.Now().UnixNano(), make(chan int)
	failures := make([]error, suite.Connections)
	var senders sync.WaitGroup
	for c := range failures {
		senders.Go(func() {
			for i := range next {
				body := fmt.Appendf(nil, `{"id":"%d-%d","type":"type.%d","order":"o%d","total":%d}`, run, i, i%kinds, i%100, i)
				failures[c] = errors.Join(failures[c], w.await(ctx, func() (bool, error) { return w.post(ctx, body) }))
			}
		})
	}
	for i := range count {
		next <- i
	}
	close(next)
	senders.Wait()
	return errors.Join(errors.Join(failures...), w.awaitRows(ctx, before+count, processed))
}

var sender = &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: suite.Connections}}

// post sends an event, and reports whether it was accepted: on a busy machine it may have to be sent again.
func (w *world) post(ctx context.Context, body []byte) (bool, error) {
	url := w.nodes[0].Ingress + "/webhooks/" + typedName
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	request.Header.Set(typedHeader, lab.Secret)
	response, err := sender.Do(request)
	if err != nil {
		return false, err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusServiceUnavailable {
		return false, nil
	}
	if response.StatusCode/100 != 2 { // 200: it has arrived before
		err = fmt.Errorf("an event: %s", response.Status)
	}
	return true, err
}
