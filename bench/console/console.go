// Package console asks for the pages of the operators' console with a million stored events, and reports their size and time. It
// must not start servers itself: package suite does.
package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/bench/suite"
)

const (
	events       = 1_000_000
	entities     = 100_000
	recent       = 400_000 // one in a hundred of them has an open dead letter
	destinations = 100
	days         = 7

	database = "console"
	// requests of a page count; the one before them, which fills caches, doesn't.
	requests = 5
	// What a page may have: bytes of HTML, and ms.
	maxBytes, maxTime = 100_000, 100
)

// Phase returns the phase.
func Phase() suite.Phase {
	return suite.Phase{
		Name: "console", About: "Each page of the console with a million stored events: bytes and time.", Long: true, Run: run,
	}
}

func run(ctx context.Context, s *suite.Suite) (err error) {
	endpoint, err := lab.NewEndpoint(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endpoint.Close()) }()
	past := lab.Past{Events: int(s.Scaled(events)), Entities: int(s.Scaled(entities)), Recent: int(s.Scaled(recent))}
	past.Every = (days * 24 * time.Hour / time.Duration(past.Events)).Truncate(time.Microsecond)
	past.Begins = time.Now().Add(-days * 24 * time.Hour).Truncate(time.Millisecond)
	past.KeysLast = 2 * days * 24 * time.Hour
	s.Say("  storing %d events, their deliveries and %d entities", past.Events, past.Entities)
	if err := fill(ctx, s, past, endpoint); err != nil {
		return err
	}
	names, err := namesIn(ctx, s, past)
	if err != nil {
		return err
	}
	node, err := s.Lab.StartProduct(ctx, lab.Product{
		Role: suite.RoleServe, Database: database, Environ: []string{suite.Loopback},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.Stop()) }()
	if err := suite.Rest(ctx); err != nil { // the doctor's first run
		return err
	}
	for _, p := range pages {
		err = errors.Join(err, measure(ctx, s, p.name, node.Operator+names.Replace(p.path)))
	}
	return errors.Join(err, manual(ctx, s, node))
}

// manual measures the pages of the documentation.
func manual(ctx context.Context, s *suite.Suite, node *lab.Node) error {
	files, err := filepath.Glob(filepath.Join(s.Root, "docs", "*.md"))
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		err = errors.Join(err, measure(ctx, s, "documentation: "+name, node.Operator+"/console/docs/"+name))
	}
	return err
}

// measure requests a page, and reports its size, and the median and the slowest time in ms.
func measure(ctx context.Context, s *suite.Suite, name, url string) error {
	var size int
	var times []float64
	for i := range requests + 1 {
		begun := time.Now()
		status, body, err := get(ctx, url)
		if err != nil {
			return err
		}
		if status != http.StatusOK && status != http.StatusSeeOther { // the search leads to a page
			return fmt.Errorf("%s answers %d", url, status)
		}
		size = max(size, len(body))
		if i > 0 {
			times = append(times, suite.Milliseconds(time.Since(begun)))
		}
	}
	median, slowest := figures.Median(times), slices.Max(times)
	s.Report.AddValue("console: bytes of "+name, "B", figures.AtMost(maxBytes), float64(size))
	s.Report.AddValue("console: slowest of "+name, "ms", figures.AtMost(maxTime), slowest)
	s.Say("| %s | %.1f | %.0f | %.0f |", name, float64(size)/1000, median, slowest)
	return nil
}

// client keeps its connection, and shows redirects instead of following them.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

func get(ctx context.Context, url string) (status int, body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err = io.ReadAll(response.Body)
	return response.StatusCode, body, err
}
