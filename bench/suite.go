package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"holdfast/bench/figures"
	"holdfast/bench/lab"
	"holdfast/providers"
)

type suite struct {
	options

	root      string
	dir       string // of the servers
	lab       *lab.Lab
	catalogue *providers.Catalogue
	report    *figures.Report
	phase     *figures.Phase // the current one
	progress  io.Writer
	// machineTime reads the stolen time.
	machineTime func() lab.MachineTime
	drives      int
}

// labDir is a subdirectory of the reports' directory.
const labDir = "lab"

func runSuite(ctx context.Context, o options, out, progress io.Writer) (err error) {
	wanted, err := chosen(o)
	if err != nil {
		return err
	}
	previous, err := figures.Latest(o.out)
	if err != nil {
		return err
	}
	s, err := newSuite(ctx, o, progress, wanted)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	var failed []string
	for _, p := range wanted {
		if err := s.run(ctx, p); err != nil {
			fmt.Fprintf(progress, "FAILED %s: %v\n", p.name, err)
			failed = append(failed, p.name)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	s.report.Took = time.Since(s.report.At).Round(time.Second)
	if err := s.publish(out, previous); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("these phases failed, and their figures are worth nothing: %s", strings.Join(failed, ", "))
	}
	return nil
}

func newSuite(ctx context.Context, o options, progress io.Writer, wanted []phase) (*suite, error) {
	s := &suite{options: o, progress: progress, machineTime: lab.ReadMachineTime}
	var err error
	if s.root, err = os.Getwd(); err != nil {
		return nil, err
	}
	if s.bin, err = filepath.Abs(o.bin); err != nil {
		return nil, err
	}
	if s.dir, err = filepath.Abs(filepath.Join(o.out, labDir)); err != nil {
		return nil, err
	}
	s.say("starting PostgreSQL and Temporal in %s", s.dir)
	machine := lab.Describe(ctx, s.root) // before it is under load
	profile, err := lab.ReadProfile(s.root)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(wanted, func(p phase) bool { return p.name == growthPhase }) {
		profile = profile.CountingPages()
	}
	if err := s.open(ctx, profile); err != nil {
		return nil, err
	}
	if machine.Postgres, err = s.lab.ServerVersion(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.report = &figures.Report{
		At: time.Now(), Machine: machine, About: about(machine),
		Options: fmt.Sprintf("pairs %d, scale %g", o.pairs, o.scale),
	}
	return s, nil
}

func about(m lab.Machine) []string {
	return []string{
		fmt.Sprintf("%d cores of %s, %d MB, Linux %s, load %s before the run", m.Cores, m.CPU, m.MemoryMB, m.Kernel, m.Load),
		fmt.Sprintf("everything on this machine: PostgreSQL %s (fsync on), Temporal %s, %s, Holdfast %s",
			m.Postgres, m.Temporal, m.Go, m.Commit),
	}
}

// open starts the servers with a profile, and creates the product's database.
func (s *suite) open(ctx context.Context, profile lab.Profile) (err error) {
	if err := os.RemoveAll(s.dir); err != nil {
		return err
	}
	definitions := filepath.Join(s.dir, "definitions")
	if s.catalogue, err = writeDefinitions(definitions); err != nil {
		return err
	}
	s.lab, err = lab.Start(ctx, lab.Options{
		Dir: s.dir, Bin: s.bin, Profile: profile, Definitions: definitions, Secrets: s.catalogue.SecretNames(),
		Debug: s.profile,
		Log:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	if err := s.lab.Migrate(ctx, lab.ProductDatabase); err != nil {
		return errors.Join(err, s.close())
	}
	return nil
}

// reopen replaces the servers by new ones with another profile.
func (s *suite) reopen(ctx context.Context, profile lab.Profile) error {
	if err := s.close(); err != nil {
		return err
	}
	return s.open(ctx, profile)
}

func (s *suite) close() error {
	if s.lab == nil {
		return nil
	}
	if s.keep {
		s.say("the logs are in %s", s.keepLogs())
	}
	err := s.lab.Close()
	s.lab = nil
	return err
}

// keepLogs copies the logs of the processes.
func (s *suite) keepLogs() string {
	dir := filepath.Join(filepath.Dir(s.dir), "logs")
	logs, _ := filepath.Glob(filepath.Join(s.dir, "*.log"))
	more, _ := filepath.Glob(filepath.Join(s.dir, "*", "*.log"))
	_ = os.MkdirAll(dir, 0o755)
	for _, path := range append(logs, more...) {
		if raw, err := os.ReadFile(path); err == nil {
			_ = os.WriteFile(filepath.Join(dir, filepath.Base(path)), raw, 0o600) //nolint:gosec // next to our reports
		}
	}
	return dir
}

func (s *suite) run(ctx context.Context, p phase) error {
	s.say("%s: %s", p.name, p.about)
	s.phase = &figures.Phase{Name: p.name, About: p.about}
	begun := time.Now()
	err := p.run(ctx, s)
	if err != nil {
		s.phase.Failed = err.Error()
	}
	s.phase.Took = time.Since(begun).Round(time.Millisecond)
	s.report.Phases = append(s.report.Phases, *s.phase)
	return err
}

func (s *suite) publish(out io.Writer, previous *figures.Report) error {
	path, err := s.report.Save(s.out)
	if err != nil {
		return err
	}
	if err := s.report.Print(out, previous); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s\n", path)
	if s.markdown == "" {
		return nil
	}
	return writeMarkdown(s.markdown, s.report.Markdown())
}

func (s *suite) say(format string, args ...any) { fmt.Fprintf(s.progress, format+"\n", args...) }

// value adds a figure of the current phase that was counted or measured once.
func (s *suite) value(name, unit string, goal *figures.Goal, v float64) {
	s.report.AddValue(s.phase.Name+": "+name, unit, goal, v)
	s.say("  %s: %.4g %s", name, v, unit)
}

// samples adds a figure that is the median of samples.
func (s *suite) samples(name, unit string, goal *figures.Goal, samples []float64) {
	s.report.AddSamples(s.phase.Name+": "+name, unit, goal, samples)
	s.say("  %s: %.4g %s of %.4g", name, figures.Median(samples), unit, samples)
}

// scaled applies the run's scale to a number of events.
func (s *suite) scaled(n int) int64 { return int64(max(float64(n)*s.scale, 50)) }

// lasting applies the run's scale to a time.
func (s *suite) lasting(d time.Duration) time.Duration {
	return max(time.Duration(float64(d)*s.scale), 2*time.Second)
}

// cores returns the number of cores of the machine.
func (s *suite) cores() int { return runtime.NumCPU() }
