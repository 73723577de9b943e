package loadgen

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"holdfast/internal/ledger"
	"holdfast/providers"
)

// Options say what to send, where, and how fast.
type Options struct {
	// Targets are addresses such as http://host:8080, used in turn. The path is the provider's, unless the target has one.
	Targets []string
	// PublicURL is the target's own public URL, for schemes that sign the URL; "" means the target.
	PublicURL string

	// Connections bounds the requests in flight; 0 means 16. In a closed loop (Rate 0) each sends as soon as it has its answer.
	Connections int
	// Rate is requests per second (an open loop): their due times are fixed in advance, and latency is measured from there, so
	// that a target that stalls is charged for every request that it delays.
	Rate float64
	// RateTo makes the rate change linearly from Rate to RateTo over Duration; 0 keeps it constant.
	RateTo float64
	// Duration and Count end the run, whichever comes first; 0 means no limit. One must be set.
	Duration time.Duration
	Count    int64
	// Timeout bounds the wait for an answer; 0 means 30 s.
	Timeout time.Duration

	// Mix lists the events to send; at least one share.
	Mix []Share
	// Duplicates is the share of requests that repeat one of this run, and BadSignatures the share of requests signed with a
	// wrong secret; each from 0 to 1, together at most 1.
	Duplicates, BadSignatures float64
	// Batch is the number of events in a request, for providers that have batches; 0 means as many as the sample.
	Batch int
	// BodySize pads the body of an event to this size in bytes; 0 disables it.
	BodySize int
	// Entities is the number of distinct entities, for samples whose entity can be chosen; 0 means 1000.
	Entities int
	// Spread is how far back the times of events lie, uniformly at random, in whole seconds: events are then sent out of order.
	// At most 5 minutes.
	Spread time.Duration

	// Seed determines which events are sent in which order.
	Seed uint64
	// Run is a part of every ID; "" means a random one. Two runs with the same Run, Seed and At send the same events.
	Run string
	// At is the time of the events, less Spread; zero means now.
	At time.Time
	// Ledger records what is sent; nil records nothing.
	Ledger Recorder
}

// Share is one kind of event in the mix.
type Share struct {
	// Provider must have its secrets (see providers.Catalogue.WithSecrets). They are read for every request.
	Provider *providers.Provider
	// Type is one of the samples; "" means the first.
	Type string
	// Weight is relative to the others; 0 means 1.
	Weight float64
}

// Recorder records requests and answers; *ledger.Writer is one. It must be safe for concurrent use. If it can't record a
// request, the request isn't sent and the run ends.
type Recorder interface {
	Sending(seq int64, at time.Time, kind ledger.Kind, events []ledger.Event) error
	Answered(seq int64, status int, took time.Duration) error
}

// The defaults and bounds of Options.
const (
	defaultConnections = 16
	defaultTimeout     = 30 * time.Second
	defaultEntities    = 1000
	maxConnections     = 4096
	maxSpread          = 5 * time.Minute
	maxRate            = 1e6
	// maxRun bounds the run's ID, so that IDs are as short as providers'.
	maxRun = 16
)

// RandomRun returns a new ID for a run.
func RandomRun() string { return strings.ToLower(rand.Text())[:maxRun] }

// withDefaults sets defaults and validates.
func (o Options) withDefaults() (Options, error) {
	setDefault(&o.Connections, defaultConnections)
	setDefault(&o.Timeout, defaultTimeout)
	setDefault(&o.Entities, defaultEntities)
	if o.Run == "" {
		o.Run = RandomRun()
	}
	if o.At.IsZero() {
		o.At = time.Now()
	}
	o.At = o.At.Truncate(time.Second)
	return o, errors.Join(o.checkLoad(), o.checkShares(), o.checkTargets())
}

func setDefault[T comparable](v *T, def T) {
	var zero T
	if *v == zero {
		*v = def
	}
}

func (o Options) checkLoad() error {
	switch {
	case o.Connections < 1 || o.Connections > maxConnections:
		return fmt.Errorf("connections: want 1 to %d", maxConnections)
	case !(o.Rate >= 0 && o.Rate <= maxRate) || !(o.RateTo >= 0 && o.RateTo <= maxRate):
		return fmt.Errorf("rate: want 0 to %.0f a second", maxRate)
	case o.RateTo > 0 && (o.Rate == 0 || o.Duration == 0):
		return errors.New("a rate that changes needs one to begin with, and a duration")
	case o.Duration <= 0 && o.Count <= 0:
		return errors.New("want a duration or a count")
	case o.Spread < 0 || o.Spread > maxSpread:
		return fmt.Errorf("spread: want 0 to %s", maxSpread)
	case o.Entities < 1 || o.Batch < 0 || o.BodySize < 0 || o.Timeout < 0:
		return errors.New("entities, batch, body size and timeout must not be negative")
	case len(o.Run) > maxRun || strings.Trim(o.Run, "0123456789abcdefghijklmnopqrstuvwxyz") != "":
		return fmt.Errorf("run: want at most %d of a-z and 0-9", maxRun)
	default:
		return nil
	}
}

func (o Options) checkShares() error {
	if !(o.Duplicates >= 0 && o.BadSignatures >= 0 && o.Duplicates+o.BadSignatures <= 1) {
		return errors.New("duplicates and bad signatures: want shares from 0 to 1, together at most 1")
	}
	if len(o.Mix) == 0 {
		return errors.New("there is nothing to send: the mix is empty")
	}
	for _, s := range o.Mix {
		if !(s.Weight >= 0) {
			return errors.New("a weight of the mix is negative")
		}
	}
	return nil
}

func (o Options) checkTargets() error {
	if len(o.Targets) == 0 {
		return errors.New("no address to send to")
	}
	for _, target := range o.Targets {
		u, err := url.Parse(target)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
			return fmt.Errorf("invalid address %q: use http://host or http://host/path", target)
		}
	}
	return nil
}
