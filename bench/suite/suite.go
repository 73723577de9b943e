package suite

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

// Options of a run.
type Options struct {
	Long     bool
	Phases   []string
	Without  []string
	Pairs    int
	Scale    float64
	Out, Bin string
	Profile  bool
	Markdown string
	Keep     bool
	// Base is the revision with which the working tree is compared.
	Base string
}

// Suite is a run of the benchmark: its servers, options and report.
type Suite struct {
	Options

	Root      string
	Dir       string // of the servers
	Lab       *lab.Lab
	catalogue *providers.Catalogue
	Report    *figures.Report
	Phase     *figures.Phase // the current one
	progress  io.Writer
	// machineTime reads the stolen time.
	machineTime func() lab.MachineTime
	drives      int
}

// labDir is a subdirectory of the reports' directory.
const labDir = "lab"

// Run runs the chosen phases, and writes and prints their report.
func Run(ctx context.Context, o Options, all []Phase, out, progress io.Writer) (err error) {
	wanted, err := chosen(o, all)
	if err != nil {
		return err
	}
	previous, err := figures.Latest(o.Out)
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
			fmt.Fprintf(progress, "FAILED %s: %v\n", p.Name, err)
			failed = append(failed, p.Name)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	s.Report.Took = time.Since(s.Report.At).Round(time.Second)
	if err := s.publish(out, previous); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("these phases failed, and their figures are worth nothing: %s", strings.Join(failed, ", "))
	}
	return nil
}

func newSuite(ctx context.Context, o Options, progress io.Writer, wanted []Phase) (*Suite, error) {
	s := &Suite{Options: o, progress: progress, machineTime: lab.ReadMachineTime}
	var err error
	if s.Root, err = os.Getwd(); err != nil {
		return nil, err
	}
	if s.Bin, err = filepath.Abs(o.Bin); err != nil {
		return nil, err
	}
	if s.Dir, err = filepath.Abs(filepath.Join(o.Out, labDir)); err != nil {
		return nil, err
	}
	s.Say("starting PostgreSQL and Temporal in %s", s.Dir)
	machine := lab.Describe(ctx, s.Root) // before it is under load
	profile, err := lab.ReadProfile(s.Root)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(wanted, func(p Phase) bool { return p.Counts }) {
		profile = profile.CountingPages()
	}
	if err := s.open(ctx, profile); err != nil {
		return nil, err
	}
	if machine.Postgres, err = s.Lab.ServerVersion(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.Report = &figures.Report{
		At: time.Now(), Machine: machine, About: about(machine),
		Options: fmt.Sprintf("pairs %d, scale %g", o.Pairs, o.Scale),
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
func (s *Suite) open(ctx context.Context, profile lab.Profile) (err error) {
	if err := os.RemoveAll(s.Dir); err != nil {
		return err
	}
	definitions := filepath.Join(s.Dir, "definitions")
	if s.catalogue, err = writeDefinitions(definitions); err != nil {
		return err
	}
	s.Lab, err = lab.Start(ctx, lab.Options{
		Dir: s.Dir, Bin: s.Bin, Profile: profile, Definitions: definitions, Secrets: s.catalogue.SecretNames(),
		Debug: s.Profile,
		Log:   slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	if err := s.Lab.Migrate(ctx, lab.ProductDatabase); err != nil {
		return errors.Join(err, s.close())
	}
	return nil
}

// Reopen replaces the servers by new ones with another profile.
func (s *Suite) Reopen(ctx context.Context, profile lab.Profile) error {
	if err := s.close(); err != nil {
		return err
	}
	return s.open(ctx, profile)
}

func (s *Suite) close() error {
	if s.Lab == nil {
		return nil
	}
	if s.Keep {
		s.Say("the logs are in %s", s.keepLogs())
	}
	err := s.Lab.Close()
	s.Lab = nil
	return err
}

// keepLogs copies the logs of the processes.
func (s *Suite) keepLogs() string {
	dir := filepath.Join(filepath.Dir(s.Dir), "logs")
	logs, _ := filepath.Glob(filepath.Join(s.Dir, "*.log"))
	more, _ := filepath.Glob(filepath.Join(s.Dir, "*", "*.log"))
	_ = os.MkdirAll(dir, 0o755)
	for _, path := range append(logs, more...) {
		if raw, err := os.ReadFile(path); err == nil {
			_ = os.WriteFile(filepath.Join(dir, filepath.Base(path)), raw, 0o600) //nolint:gosec // next to our reports
		}
	}
	return dir
}

func (s *Suite) run(ctx context.Context, p Phase) error {
	s.Say("%s: %s", p.Name, p.About)
	s.Phase = &figures.Phase{Name: p.Name, About: p.About}
	begun := time.Now()
	err := p.Run(ctx, s)
	if err != nil {
		s.Phase.Failed = err.Error()
	}
	s.Phase.Took = time.Since(begun).Round(time.Millisecond)
	s.Report.Phases = append(s.Report.Phases, *s.Phase)
	return err
}

func (s *Suite) publish(out io.Writer, previous *figures.Report) error {
	path, err := s.Report.Save(s.Out)
	if err != nil {
		return err
	}
	if err := s.Report.Print(out, previous); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%s\n", path)
	if s.Markdown == "" {
		return nil
	}
	return WriteMarkdown(s.Markdown, s.Report.Markdown())
}

// Say prints a line about the progress.
func (s *Suite) Say(format string, args ...any) { fmt.Fprintf(s.progress, format+"\n", args...) }

// Value adds a figure of the current phase that was counted or measured once.
func (s *Suite) Value(name, unit string, goal *figures.Goal, v float64) {
	s.Report.AddValue(s.Phase.Name+": "+name, unit, goal, v)
	s.Say("  %s: %.4g %s", name, v, unit)
}

// Samples adds a figure that is the median of samples.
func (s *Suite) Samples(name, unit string, goal *figures.Goal, samples []float64) {
	s.Report.AddSamples(s.Phase.Name+": "+name, unit, goal, samples)
	s.Say("  %s: %.4g %s of %.4g", name, figures.Median(samples), unit, samples)
}

// Scaled applies the run's scale to a number of events.
func (s *Suite) Scaled(n int) int64 { return int64(max(float64(n)*s.Scale, 50)) }

// Lasting applies the run's scale to a time.
func (s *Suite) Lasting(d time.Duration) time.Duration {
	return max(time.Duration(float64(d)*s.Scale), 2*time.Second)
}

// Cores returns the number of cores of the machine.
func (s *Suite) Cores() int { return runtime.NumCPU() }

// WriteMarkdown inserts a table into a page, between two marks.
func WriteMarkdown(path, table string) error {
	const begin, end = "<!-- bench: begin -->", "<!-- bench: end -->"
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(raw), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s has no marks %s and %s to write between", path, begin, end)
	}
	page := before + begin + "\n\n" + table + "\n" + end + after
	return os.WriteFile(path, []byte(page), 0o644) //nolint:gosec // the caller names the page
}
