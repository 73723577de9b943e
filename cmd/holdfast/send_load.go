package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
)

// The bounds of a run.
const (
	maxSends       = 1_000_000
	maxConcurrency = 512
	// progressEvery is the pause between two lines of progress.
	progressEvery = 2 * time.Second
)

// load says how often events are sent.
type load struct {
	count, concurrency int
	rate               string
	duplicates         string

	perSecond float64 // 0: as fast as it goes
	share     float64 // of requests that repeat an event, 0 to 1
}

func (l *load) flags(f *pflag.FlagSet) {
	f.IntVar(&l.count, "count", 1, "how many requests to send")
	f.IntVar(&l.concurrency, "concurrency", 16, "how many at the same time")
	f.StringVar(&l.rate, "rate", "", "how many to begin in a second (100/s) or a minute (600/m); default: as fast as it goes")
	f.StringVar(&l.duplicates, "duplicates", "", "share of the requests that repeat an event of this run, such as 30%")
}

func (l *load) check() (err error) {
	if l.count < 1 || l.count > maxSends {
		return fmt.Errorf("--count: want 1 to %d", maxSends)
	}
	if l.concurrency < 1 || l.concurrency > maxConcurrency {
		return fmt.Errorf("--concurrency: want 1 to %d", maxConcurrency)
	}
	if l.perSecond, err = parseRate(l.rate); err != nil {
		return err
	}
	l.share, err = parseShare(l.duplicates)
	return err
}

// parseRate reads "100/s", "600/m" or a number a second.
func parseRate(s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	number, unit, _ := strings.Cut(s, "/")
	n, err := strconv.ParseFloat(number, 64)
	if unit == "m" {
		n /= 60
	}
	if err != nil || (unit != "" && unit != "s" && unit != "m") || !(n > 0.001 && n <= 1e6) {
		return 0, fmt.Errorf("--rate: %q is none: want a number a second such as 100/s, or a minute such as 600/m", s)
	}
	return n, nil
}

// parseShare reads "30%".
func parseShare(s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
	if err != nil || !(n >= 0 && n <= 100) {
		return 0, fmt.Errorf("--duplicates: %q is no share: want 0%% to 100%%", s)
	}
	return n / 100, nil
}

// event gives the number of the event that request i sends. Duplicates are spread evenly over the run, and each repeats an
// event that has been sent before, or is being sent.
func (l *load) event(i int) int {
	before := int(float64(i) * l.share)
	if repeats := int(float64(i+1)*l.share) > before; repeats && i > 0 {
		return rand.IntN(max(1, i-before)) //nolint:gosec // which event is repeated is no secret
	}
	return i - before
}

// run sends until all is sent or the context ends, and prints a summary.
func (l *load) run(ctx context.Context, s *sender, out, progress io.Writer) error {
	if _, err := s.request(0); err != nil {
		return err
	}
	t := newTally(l.count)
	numbers := make(chan int)
	var senders sync.WaitGroup
	for range min(l.concurrency, l.count) {
		senders.Go(func() {
			for i := range numbers {
				answer, err := s.send(ctx, l.event(i))
				if ctx.Err() == nil {
					t.add(answer, err)
				}
			}
		})
	}
	finished := make(chan struct{})
	var reporter sync.WaitGroup
	reporter.Go(func() { t.reportUntil(finished, progress) })
	l.feed(ctx, numbers)
	senders.Wait()
	close(finished)
	reporter.Wait()
	return t.summarise(out)
}

// feed hands out the numbers of the requests, each when it is due.
func (l *load) feed(ctx context.Context, numbers chan<- int) {
	defer close(numbers)
	start := time.Now()
	for i := range l.count {
		if l.perSecond > 0 {
			due := start.Add(time.Duration(float64(i) / l.perSecond * float64(time.Second)))
			select {
			case <-time.After(time.Until(due)):
			case <-ctx.Done():
				return
			}
		}
		select {
		case numbers <- i:
		case <-ctx.Done():
			return
		}
	}
}
