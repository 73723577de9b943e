package peers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"holdfast/bench/lab"
	"holdfast/providers"
)

// Options configure a comparison.
type Options struct {
	// Root is the repository, Bin the folder with Holdfast's programs, and Dir the folder of the servers and builds.
	Root, Bin, Dir string
	// Sources is the folder with the sources of the other systems.
	Sources string
	// Rounds is how often every system has its turn.
	Rounds int
	// Idle is how long a system is measured without load, in each round.
	Idle time.Duration
	// Crash adds the round in which everything is killed.
	Crash bool
	// Progress gets a line for each step.
	Progress io.Writer
}

// runner compares the systems.
type runner struct {
	Options

	lab       *lab.Lab
	arrivals  *arrivals
	catalogue *providers.Catalogue
	systems   []system
}

func (r *runner) say(format string, args ...any) { fmt.Fprintf(r.Progress, format+"\n", args...) }

// Run compares the systems, and returns the result.
func Run(ctx context.Context, o Options) (result *Result, err error) {
	if err := checkPackages(); err != nil {
		return nil, err
	}
	r := &runner{Options: o}
	built, err := build(ctx, o.Sources, filepath.Join(o.Dir, "built"), r.say)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	machine := lab.Describe(ctx, o.Root)
	defer func() { err = errors.Join(err, r.close()) }()
	if err := r.open(ctx, built); err != nil {
		return nil, err
	}
	if machine.Postgres, err = r.lab.ServerVersion(ctx); err != nil {
		return nil, err
	}
	result = &Result{At: begun, Rounds: o.Rounds, Machine: machine, Versions: built.versions, Packages: packages(ctx)}
	for n := range o.Rounds {
		if err := r.round(ctx, n, result); err != nil {
			return nil, err
		}
	}
	if o.Crash {
		err = r.crashAll(ctx, result)
	}
	result.Took = time.Since(begun).Round(time.Second)
	return result, err
}

// open starts PostgreSQL and prepares the systems.
func (r *runner) open(ctx context.Context, built programs) (err error) {
	dir := filepath.Join(r.Dir, "servers")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := r.readDefinitions(dir); err != nil {
		return err
	}
	profile, err := lab.ReadProfile(r.Root)
	if err != nil {
		return err
	}
	if r.arrivals, err = listen(); err != nil {
		return err
	}
	log := slog.New(slog.DiscardHandler)
	r.lab, err = lab.Start(ctx, lab.Options{
		Dir: dir, Bin: r.Bin, Profile: profile, Definitions: filepath.Join(dir, "definitions"),
		Secrets: r.catalogue.SecretNames(), Log: log,
	})
	if err != nil {
		return err
	}
	return r.prepareAll(ctx, &host{dir: dir, meter: r.lab.Meter, log: log}, built)
}

// readDefinitions writes Holdfast's definitions, and reads them with those that only the load generator uses.
func (r *runner) readDefinitions(dir string) error {
	if _, err := lab.WriteDefinitions(filepath.Join(dir, "definitions"), holdfastDefinitions); err != nil {
		return err
	}
	all := maps.Clone(holdfastDefinitions)
	all[providerConvoy] = convoyDefinition
	for _, tenant := range []string{outpostOne, outpostMany} {
		all[providerOutpost+"-"+tenant] = outpostDefinitionOf(tenant)
	}
	var err error
	r.catalogue, err = lab.WriteDefinitions(filepath.Join(dir, "load"), all)
	return err
}

// prepareAll creates what the systems need, and leaves them stopped.
func (r *runner) prepareAll(ctx context.Context, h *host, built programs) error {
	ours, err := newHoldfast(r.lab, r.arrivals)
	if err != nil {
		return err
	}
	first, err := newConvoy(h, built, r.lab, r.arrivals)
	if err != nil {
		return err
	}
	second, err := newOutpost(h, built, r.lab, r.arrivals)
	if err != nil {
		return err
	}
	for _, s := range []system{ours, first, second} {
		r.say("preparing %s", s.name())
		if err := s.prepare(ctx); err != nil {
			return errors.Join(fmt.Errorf("prepare %s: %w", s.name(), err), s.stop())
		}
		if err := s.stop(); err != nil {
			return err
		}
	}
	r.systems = []system{first, second, ours}
	return nil
}

// round measures every system once; every other round has them in the other order.
func (r *runner) round(ctx context.Context, n int, result *Result) error {
	systems := slices.Clone(r.systems)
	if n%2 == 1 {
		slices.Reverse(systems)
	}
	for _, s := range systems {
		r.say("round %d of %d: %s", n+1, r.Rounds, s.name())
		if err := s.start(ctx); err != nil {
			return errors.Join(err, s.stop())
		}
		got, err := r.measure(ctx, s)
		if err := errors.Join(err, s.stop()); err != nil {
			return fmt.Errorf("round %d of %s: %w", n+1, s.name(), err)
		}
		for _, side := range s.sides() {
			c := result.of(side)
			c.samples = append(c.samples, got[side.name])
		}
	}
	return nil
}

func (r *runner) crashAll(ctx context.Context, result *Result) error {
	for _, s := range r.systems {
		if err := s.start(ctx); err != nil {
			return errors.Join(err, s.stop())
		}
		for _, side := range s.sides() {
			r.say("kill -9: %s", side.name)
			o, err := r.crash(ctx, s, side)
			if err != nil {
				return errors.Join(fmt.Errorf("kill -9 of %s: %w", side.name, err), s.stop())
			}
			r.say("  %d acknowledged, %d delivered, %d lost, %d doubled", o.Acknowledged, o.Delivered, o.Lost, o.Doubled)
			result.of(side).crash = &o
		}
		if err := s.stop(); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) close() (err error) {
	if r.arrivals != nil {
		err = r.arrivals.close()
	}
	if r.lab != nil {
		err = errors.Join(err, r.lab.Close())
	}
	return err
}
