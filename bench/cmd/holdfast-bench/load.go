package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"holdfast/bench/loadgen"
	"holdfast/internal/cli"
	"holdfast/internal/config"
	"holdfast/internal/ledger"
	"holdfast/internal/ledger/check"
	"holdfast/internal/stores"
	"holdfast/providers"
	"holdfast/providers/auth"
)

// loadOptions are the unparsed flags of a load.
type loadOptions struct {
	loadgen.Options
	duplicates, badSignatures string
	secret, ledger            string
	settle                    time.Duration
}

// loadResult is the output of --json.
type loadResult struct {
	Load loadgen.Result `json:"load"`
	// Check is nil without a database.
	Check *ledger.Report `json:"check,omitempty"`
	// Unfinished counts acknowledged events that hadn't ended at the time of the check.
	Unfinished int `json:"unfinished"`
	// Interrupted reports that the command was stopped before the load or the check ended.
	Interrupted bool `json:"interrupted,omitempty"`
}

// loadCommand returns `holdfast-bench load`.
func loadCommand() *cobra.Command {
	var o loadOptions
	command := &cobra.Command{
		Use:   "load PROVIDER[:TYPE][=WEIGHT]...",
		Short: "Send signed events, check that nothing is lost (exit 1 if it is)",
		Long: `Load any deployment with signed events, as fast as possible or at a rate (an open
loop: latency is measured from when each request was due). With DATABASE_URL, or next
to a dev stack, it then waits until all events have ended, and compares what is stored
with what was sent. Elsewhere, keep the ledger (--ledger) and run verify-ledger where
the database is.`,
		Example: "  holdfast-bench load stripe --duration 30s --duplicates 30%\n" +
			"  holdfast-bench load stripe:customer.updated=3 github:push --rate 100/s --ramp 500/s",
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			cfg, _, err := config.LoadBesideDev()
			if err != nil {
				return err
			}
			if err := o.read(c, cfg, args); err != nil {
				return cli.UsageError(c, err)
			}
			return runLoad(c, cfg, &o)
		},
	}
	o.flags(command)
	return command
}

func (o *loadOptions) flags(command *cobra.Command) {
	cli.AddJSONFlag(command)
	f := command.Flags()
	f.StringArrayVar(&o.Targets, "url", nil, "the URL to send to (repeatable, used in turn; default: the configured ingress)")
	f.IntVar(&o.Connections, "connections", 16, "max requests in flight")
	cli.AddRateFlag(command, &o.Rate, "rate", "requests to start; default: as fast as possible")
	cli.AddRateFlag(command, &o.RateTo, "ramp", "at the end of --duration, changing linearly from --rate")
	cli.AddDurationFlag(command, &o.Duration, 0, "duration", "how long to send; default 10s, unless --count is given")
	f.Int64Var(&o.Count, "count", 0, "how many requests to send")
	cli.AddDurationFlag(command, &o.Timeout, 30*time.Second, "timeout", "how long to wait for a response")
	f.StringVar(&o.duplicates, "duplicates", "", "share of requests that repeat an earlier one, such as 30%")
	f.StringVar(&o.badSignatures, "bad-signatures", "", "share of requests with an invalid signature, such as 5%")
	f.IntVar(&o.Batch, "batch", 0, "events per request, for providers with batches; default: as in the sample")
	f.IntVar(&o.BodySize, "body-size", 0, "pad request bodies to this many bytes")
	f.IntVar(&o.Entities, "entities", 1000, "how many entities the events are about, if the sample supports it")
	cli.AddDurationFlag(command, &o.Spread, 0, "spread", "spread the events' times into the past, so that they arrive out of order")
	f.Uint64Var(&o.Seed, "seed", 0, "seed for the random choices; default: a random one, which is printed")
	cli.AddSecretFlag(command, &o.secret, "sign with it")
	f.StringVar(&o.ledger, "ledger", "", "file to record all requests and responses in, for verify-ledger (appends)")
	cli.AddDurationFlag(command, &o.settle, time.Minute, "settle", "how long to wait until all events have ended")
}

// read parses flags and arguments.
func (o *loadOptions) read(c *cobra.Command, cfg config.Config, words []string) (err error) {
	if o.Duplicates, err = parseShare("duplicates", o.duplicates); err != nil {
		return err
	}
	if o.BadSignatures, err = parseShare("bad-signatures", o.badSignatures); err != nil {
		return err
	}
	if o.Duration == 0 && o.Count == 0 {
		o.Duration = 10 * time.Second
	}
	if len(o.Targets) == 0 {
		o.Targets, o.PublicURL = []string{cfg.Ingress.LocalURL()}, cfg.Ingress.PublicURL
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64() //nolint:gosec // no secret
	}
	catalogue, err := providers.Load(cfg.Providers.Dir)
	if err != nil {
		return err
	}
	o.Mix, err = parseMix(c, catalogue.WithSecrets(secretsOnce(cfg, o.secret)), words)
	o.Run = loadgen.RandomRun()
	return err
}

// secretsOnce reads the environment once instead of for each request.
func secretsOnce(cfg config.Config, given string) auth.Secrets {
	if given != "" {
		return func(string) []string { return []string{given} }
	}
	var known sync.Map // by name
	return func(name string) []string {
		read, ok := known.Load(name)
		if !ok {
			read, _ = known.LoadOrStore(name, cfg.Secrets(name))
		}
		secrets, _ := read.([]string)
		return secrets
	}
}

func runLoad(c *cobra.Command, cfg config.Config, o *loadOptions) (err error) {
	checked := cfg.RequireDatabase() == nil
	if o.ledger == "" && checked {
		file, err := os.CreateTemp("", "holdfast-*.ledger")
		if err != nil {
			return err
		}
		o.ledger = file.Name()
		_ = file.Close()
		defer func() { err = removeUnlessBroken(o.ledger, err) }()
	}
	var result loadResult
	if result.Load, err = o.send(c); err != nil {
		return err
	}
	if checked && c.Context().Err() == nil {
		if err := result.check(c, cfg, o); err != nil && c.Context().Err() == nil {
			return err
		}
	}
	result.Interrupted = c.Context().Err() != nil && result.Check == nil
	if err := cli.Print(c, result, result.write); err != nil {
		return err
	}
	switch {
	case result.Interrupted:
		return errors.New("interrupted: nothing was checked; with a ledger, use holdfast-bench verify-ledger")
	case result.Check != nil && !result.Check.Holds():
		return brokenError(*result.Check, result.Unfinished)
	case result.Check != nil && result.Check.Dead > 0:
		return fmt.Errorf("%d of %d acknowledged events are dead letters: see `holdfast dlq list`", result.Check.Dead,
			result.Check.Acknowledged)
	case result.Load.OK == 0 && o.BadSignatures < 1:
		return errors.New("nothing was acknowledged")
	case result.Unfinished > 0:
		return fmt.Errorf("%d events have not ended after %s", result.Unfinished, o.settle)
	default:
		return nil
	}
}

// send runs the load with a progress bar.
func (o *loadOptions) send(c *cobra.Command) (loadgen.Result, error) {
	if o.ledger != "" {
		w, err := ledger.Open(o.ledger, ledger.Run{ID: o.Run, Started: time.Now(), Seed: o.Seed})
		if err != nil {
			return loadgen.Result{}, err
		}
		defer w.Close()
		o.Ledger = w
	}
	g, err := loadgen.New(o.Options)
	if err != nil {
		return loadgen.Result{}, err
	}
	stop := watchLoad(c.ErrOrStderr(), g, o.Options)
	result, err := g.Run(c.Context())
	stop()
	return result, err
}

// check waits until all events are processed and checks the result.
func (r *loadResult) check(c *cobra.Command, cfg config.Config, o *loadOptions) error {
	l, err := ledger.ReadFile(o.ledger)
	if err != nil {
		return err
	}
	stored, err := check.Open(c.Context(), stores.StoreConfig(cfg), l)
	if err != nil {
		return err
	}
	defer stored.Close()
	errOut := c.ErrOrStderr()
	live := cli.IsTerminal(errOut)
	r.Unfinished, err = waitSettled(c.Context(), stored, time.Now().Add(o.settle), func(left int) {
		if live {
			cli.WriteProgress(errOut, live, fmt.Sprintf("%d are not processed yet", left))
		}
	})
	if live {
		fmt.Fprintln(errOut)
	}
	if err != nil {
		return err
	}
	report, err := stored.Report(c.Context())
	if err == nil {
		r.Check = &report
	}
	return err
}

func (r *loadResult) write(w io.Writer) error {
	if r.Interrupted {
		fmt.Fprintln(w, "interrupted: these figures cover what was sent so far, and nothing was checked")
	}
	if err := writeLoad(w, &r.Load); err != nil || r.Check == nil {
		return err
	}
	if err := writeTiming(w, r.Check.Timing); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return writeReport(w, *r.Check)
}

// parseMix parses one or more PROVIDER[:TYPE][=WEIGHT].
func parseMix(c *cobra.Command, catalogue *providers.Catalogue, words []string) (mix []loadgen.Share, err error) {
	for _, word := range words {
		share := loadgen.Share{Weight: 1}
		what, weight, given := strings.Cut(word, "=")
		if given {
			if share.Weight, err = strconv.ParseFloat(weight, 64); err != nil || !(share.Weight > 0) {
				return nil, fmt.Errorf(
					"invalid argument %q: use PROVIDER, PROVIDER:TYPE or PROVIDER:TYPE=WEIGHT, with a weight above 0", word)
			}
		}
		name, eventType, _ := strings.Cut(what, ":")
		if share.Provider, err = cli.FindProvider(c, catalogue, name); err != nil {
			return nil, err
		}
		share.Type = eventType
		mix = append(mix, share)
	}
	return mix, nil
}

// parseShare parses "30%"; "" is 0.
func parseShare(flag, s string) (float64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(strings.TrimSuffix(s, "%"), 64)
	if err != nil || !(n >= 0 && n <= 100) {
		return 0, fmt.Errorf("invalid --%s %q: use 0%% to 100%%", flag, s)
	}
	return n / 100, nil
}
