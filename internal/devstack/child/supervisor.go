package child

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

const (
	defaultBackoff = 100 * time.Millisecond
	backoffFactor  = 50 // the longest delay, as a multiple of the first
	// maxFailures is how many consecutive restarts may end before the child was ready; then the supervisor gives up.
	maxFailures = 10
	cleanLimit  = 40 * time.Second
	// startLimit bounds a child's start, including recovery after a crash.
	startLimit = 3 * time.Minute
)

// A Supervisor keeps one child process running until it is stopped.
type Supervisor struct {
	Name       string
	Command    func() *exec.Cmd            // a new command for every start
	Clean      func(context.Context) error // called before every start to end what an earlier run left behind; may be nil
	Ready      func(context.Context) error // returns nil once the child answers
	Started    func(*exec.Cmd) error       // called after every start; may be nil
	Port       int                         // where the child listens; 0 for nowhere
	StopSignal syscall.Signal
	Backoff    time.Duration // delay before the first restart, doubled for each that fails; 0 means 100 ms
	Log        *slog.Logger

	life   context.Context // ends with the supervision
	end    context.CancelFunc
	ready  chan error // receives nil when the child has first answered, else the error
	done   chan struct{}
	reason error // why it ended, valid once done is closed

	mu      sync.Mutex
	process *os.Process
}

// Start runs the child and returns when it is ready. If the child ends before that, Start fails instead of restarting it.
func (s *Supervisor) Start(ctx context.Context) error {
	s.life, s.end = context.WithCancel(context.Background())
	s.ready, s.done = make(chan error, 1), make(chan struct{})
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	go s.run(ctx)
	if err := <-s.ready; err != nil {
		s.Kill()
		<-s.done
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	return nil
}

// run starts the child, waits for its end, and restarts it. It keeps its thread: Linux sends the parent death signal when the
// *thread* that created the child ends.
func (s *Supervisor) run(ctx context.Context) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.done)
	answered, exit := s.runOnce(ctx, func(err error) { s.ready <- err })
	if !answered {
		return
	}
	for failures := 0; failures < maxFailures && s.pause(failures, exit); failures++ {
		if answered, exit = s.runOnce(s.life, s.logReturn); answered {
			failures = -1
		}
	}
	if s.life.Err() == nil {
		s.reason = s.ended(exit)
		s.Log.Error("a server of the dev stack ended and is not restarted", "server", s.Name, "error", s.reason)
	}
}

func (s *Supervisor) ended(exit error) error { return fmt.Errorf("%s ended: %w", s.Name, exit) }

// pause waits before a restart. It returns false if the supervision has ended.
func (s *Supervisor) pause(failures int, exit error) bool {
	if s.life.Err() != nil {
		return false
	}
	backoff := cmp.Or(s.Backoff, defaultBackoff)
	delay := min(backoff<<failures, backoff*backoffFactor)
	s.Log.Warn("a server of the dev stack ended, restarting it", "server", s.Name, "exit", exit, "in", delay)
	select {
	case <-time.After(delay):
		return true
	case <-s.life.Done():
		return false
	}
}

func (s *Supervisor) logReturn(err error) {
	if err == nil {
		s.Log.Info("a server of the dev stack is back", "server", s.Name, "pid", s.PID())
	}
}

// runOnce runs the child to its end, and returns whether it ever answered and why it ended. It calls ready once: with nil when
// the child answers, or with an error when the child or the context ends before that.
func (s *Supervisor) runOnce(ctx context.Context, ready func(error)) (answered bool, exit error) {
	cmd, err := s.spawn(ctx)
	if err != nil {
		ready(err)
		return false, err
	}
	ended, end := context.WithCancelCause(ctx)
	unanswered := make(chan error, 1)
	go func() {
		err := s.awaitReady(ended)
		ready(err)
		unanswered <- err
	}()
	exit = cmp.Or(cmd.Wait(), errors.New("exit status 0"))
	end(s.ended(exit))
	return <-unanswered == nil, exit
}

// awaitReady probes the child until it answers or the context ends.
func (s *Supervisor) awaitReady(ctx context.Context) (last error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := s.Ready(attempt)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			if cause := context.Cause(ctx); !errors.Is(cause, ctx.Err()) {
				return cause
			}
			return errors.Join(fmt.Errorf("not ready: %w", ctx.Err()), last)
		case <-tick.C:
		}
	}
}

func (s *Supervisor) spawn(ctx context.Context) (*exec.Cmd, error) {
	ctx, cancel := context.WithTimeout(ctx, cleanLimit)
	defer cancel()
	if s.Clean != nil {
		if err := s.Clean(ctx); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.life.Err(); err != nil {
		return nil, err
	}
	// Otherwise another process on the port could answer in place of a child that ends because of that.
	if s.Port != 0 {
		if err := checkPort(Port{Number: s.Port, Purpose: s.Name}); err != nil {
			return nil, err
		}
	}
	cmd := s.Command()
	defer CloseLog(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s.process = cmd.Process
	if s.Started == nil {
		return cmd, nil
	}
	if err := s.Started(cmd); err != nil {
		return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return cmd, nil
}

// Stop ends the child and waits for it. If the context ends first, it kills the child.
func (s *Supervisor) Stop(ctx context.Context) error {
	s.Signal(s.StopSignal)
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		s.Kill()
		<-s.done
		return fmt.Errorf("stop %s: killed it: %w", s.Name, ctx.Err())
	}
}

// Kill ends the supervision and kills the child.
func (s *Supervisor) Kill() { s.Signal(syscall.SIGKILL) }

// Signal ends the supervision and sends the signal to the running child, if any.
func (s *Supervisor) Signal(sig syscall.Signal) {
	s.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		_ = s.process.Signal(sig) // only fails if the child has ended, which is what we want
	}
}

// PID returns the process ID of the running or last child.
func (s *Supervisor) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.Pid
}

// Failure returns why the child ended without being stopped; nil while it runs.
func (s *Supervisor) Failure() error {
	select {
	case <-s.done:
		return s.reason
	default:
		return nil
	}
}

// Done returns a channel that is closed once the child has ended permanently.
func (s *Supervisor) Done() <-chan struct{} { return s.done }
