package suite

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"holdfast/bench/baseline"
	"holdfast/bench/lab"
)

// The parts, which run as separate processes: see package baseline, and serveAPI.
const (
	PartCeiling = "ceiling"
	PartSteps   = "steps"
	PartHandler = "handler"
	PartStarts  = "starts"
	PartAPI     = "api"
	// PartDatabase is the variable with a part's database, because arguments are visible to everyone.
	PartDatabase = "BENCH_DATABASE"
)

// baselineDatabase is where the parts write, separate from the product.
const baselineDatabase = "baseline"

// partLimit bounds the wait for a part's answer.
const partLimit = time.Minute

// Part is a running part. It reads requests from standard input, answers in lines, and ends at the end of the input.
type Part struct {
	name    string
	suite   *Suite
	command *exec.Cmd
	cancel  context.CancelFunc
	in      io.WriteCloser
	out     *bufio.Reader
	failure bytes.Buffer
}

// WithPart runs f with a part, and stops it.
func (s *Suite) WithPart(ctx context.Context, name string, f func(*Part) error) error {
	if err := s.Lab.Postgres.CreateDatabase(ctx, baselineDatabase); err != nil {
		return err
	}
	p, err := s.startPart(ctx, name)
	if err != nil {
		return err
	}
	return errors.Join(f(p), p.stop())
}

func (s *Suite) startPart(ctx context.Context, name string) (p *Part, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p = &Part{name: name, suite: s}
	ctx, p.cancel = context.WithCancel(ctx)
	defer func() {
		if err != nil {
			p.cancel()
		}
	}()
	p.command = exec.CommandContext(ctx, self, "part", name, "--address", s.Lab.Temporal.Address(),
		"--namespace", s.Lab.Temporal.Namespace())
	p.command.Env = append(os.Environ(), PartDatabase+"="+s.Lab.Postgres.URL(baselineDatabase))
	p.command.Cancel = func() error { return p.command.Process.Signal(syscall.SIGTERM) }
	p.command.WaitDelay = 20 * time.Second
	p.command.Stderr = &p.failure
	if p.in, err = p.command.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	s.Lab.Meter.Track(lab.LabelBaseline, p.command.Process.Pid)
	return p, nil
}

func (p *Part) stop() error {
	err := p.in.Close()
	p.cancel()
	if failure := p.command.Wait(); failure != nil && !errors.Is(failure, context.Canceled) {
		err = errors.Join(err, fmt.Errorf("%s: %w\n%s", p.name, failure, p.failure.Bytes()))
	}
	return err
}

// Line returns the next answer. A part that doesn't answer in time is ended.
func (p *Part) Line() (string, error) {
	defer time.AfterFunc(partLimit, p.cancel).Stop()
	line, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("read what %s says: %w", p.name, err)
	}
	return strings.TrimSpace(line), nil
}

// measure requests a slice, and returns its result and total cost, see suite.used.
func (p *Part) measure(ctx context.Context, want baseline.Slice, i Idle) (r baseline.Result, used lab.Usage, err error) {
	before := p.suite.Lab.Meter.Sample()
	if err := json.NewEncoder(p.in).Encode(want); err != nil {
		return r, nil, fmt.Errorf("ask %s: %w", p.name, err)
	}
	answer, err := p.Line()
	if err == nil {
		err = json.Unmarshal([]byte(answer), &r)
	}
	if err != nil {
		return r, nil, err
	}
	_, used, err = p.suite.Used(ctx, before, i)
	return r, used, err
}
