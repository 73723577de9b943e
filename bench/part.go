package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"holdfast/bench/lab"
	"holdfast/bench/yardstick"
)

// The parts that run as processes of their own: see package yardstick.
const (
	partCeiling = "ceiling"
	partSteps   = "steps"
	partHandler = "handler"
	partRefuser = "refuser"
	// partDatabase is the variable with the database of a part; arguments can be read by everybody.
	partDatabase = "BENCH_DATABASE"
)

// partLimit bounds a run of a part.
const partLimit = 10 * time.Minute

func (s *suite) part(ctx context.Context, name, database string, flags ...string) (*exec.Cmd, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, self, append([]string{"part", name, "--address", s.lab.Temporal.Address(),
		"--namespace", s.lab.Temporal.Namespace()}, flags...)...)
	command.Env = append(os.Environ(), partDatabase+"="+s.lab.Postgres.URL(database))
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = 20 * time.Second
	return command, nil
}

// measurePart runs a part to its end, with so many workflows, and gives its result and what all this has cost. A rate of 0 is as
// many as can be.
func (s *suite) measurePart(
	ctx context.Context, name, database string, count int64, rate float64,
) (r yardstick.Result, used lab.Usage, err error) {
	ctx, cancel := context.WithTimeout(ctx, partLimit)
	defer cancel()
	command, err := s.part(ctx, name, database, "--count", strconv.FormatInt(count, 10),
		"--rate", strconv.FormatFloat(rate, 'f', -1, 64))
	if err != nil {
		return r, nil, err
	}
	var out, failure bytes.Buffer
	command.Stdout, command.Stderr = &out, &failure
	before := s.lab.Meter.Look()
	if err := command.Start(); err != nil {
		return r, nil, err
	}
	s.lab.Meter.Track(lab.LabelYardstick, command.Process.Pid)
	if err := command.Wait(); err != nil {
		return r, nil, fmt.Errorf("%s: %w\n%s", name, err, failure.Bytes())
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return r, nil, fmt.Errorf("read the result of %s: %w", name, err)
	}
	if err := rest(ctx); err != nil {
		return r, nil, err
	}
	used = s.lab.Meter.Look().CPU.Sub(before.CPU)
	used[lab.LabelYardstick] = r.CPU // without its start
	return r, used, nil
}

// startReceiver starts a part that serves and gives its address.
func (s *suite) startReceiver(ctx context.Context, name, database string) (url string, stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	command, err := s.part(ctx, name, database)
	if err != nil {
		cancel()
		return "", nil, err
	}
	var failure bytes.Buffer
	command.Stderr = &failure
	out, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		cancel()
		return "", nil, err
	}
	s.lab.Meter.Track(lab.LabelYardstick, command.Process.Pid)
	stop = func() error {
		cancel()
		if err := command.Wait(); err != nil && !errors.Is(err, context.Canceled) {
			return fmt.Errorf("%s: %w\n%s", name, err, failure.Bytes())
		}
		return nil
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return "", nil, errors.Join(err, stop())
	}
	return strings.TrimSpace(line), stop, nil
}

// settled is how long after the last event the servers are still charged for it: Temporal closes its books in the background.
const settled = time.Second

func rest(ctx context.Context) error {
	select {
	case <-time.After(settled):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
