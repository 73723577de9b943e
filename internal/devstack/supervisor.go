package devstack

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
	"sync/atomic"
	"syscall"
	"time"
)

const (
	defaultBackoff = 100 * time.Millisecond
	backoffFactor  = 50 // the longest wait, in first waits
	// maxFailures is how many restarts in a row may end before the child was ready; then the supervisor gives up.
	maxFailures = 10
	cleanLimit  = 40 * time.Second
	// startLimit is how long a child may take until it answers, recovery after a crash included.
	startLimit = 3 * time.Minute
)

// errStopping says that a child was not started because its supervisor is being stopped.
var errStopping = errors.New("stopping")

// A supervisor keeps one child process running until it is stopped.
//
// The child is started, and waited for, by one goroutine that is locked to its thread: Linux sends the parent death
// signal when the *thread* that created the child ends, so that thread has to live as long as the child.
type supervisor struct {
	name    string
	command func() *exec.Cmd            // a new command for every start
	clean   func(context.Context) error // ends what an earlier run left behind, before every start
	ready   func(context.Context) error // returns nil once the child answers
	started func(*exec.Cmd) error       // told of every start; may be nil
	port    int                         // where the child listens; 0: nowhere
	stopSig syscall.Signal
	backoff time.Duration // before the first restart, doubled for each that fails; 0: a tenth of a second
	log     *slog.Logger

	keep     atomic.Bool // false until the first start succeeded: only then is a death followed by a restart
	stopping chan struct{}
	stopOnce sync.Once
	done     chan struct{}
	err      error // why it ended, valid once done is closed

	mu      sync.Mutex
	process *os.Process
}

// start runs the child and returns when it is ready. A child that ends before that is an error, not a restart.
func (s *supervisor) start(ctx context.Context) error {
	s.stopping, s.done = make(chan struct{}), make(chan struct{})
	if err := s.clean(ctx); err != nil {
		return err
	}
	started := make(chan error, 1)
	go s.run(started)
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := s.awaitReady(ctx, s.done); err != nil {
		s.kill()
		<-s.done
		return fmt.Errorf("start %s: %w", s.name, err)
	}
	s.keep.Store(true)
	select {
	case <-s.done: // it answered once and ended before it was kept
		return fmt.Errorf("start %s: %w", s.name, cmp.Or(s.err, errStopping))
	default:
		return nil
	}
}

// run is the life of the supervisor: start, wait, and start again.
func (s *supervisor) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(s.done)

	cmd, err := s.spawn()
	started <- err
	if err != nil {
		s.err = err
		return
	}
	exit := cmd.Wait()
	for failures := 0; s.keep.Load() && failures < maxFailures; {
		cmd, err := s.restart(failures, exit)
		if errors.Is(err, errStopping) {
			return
		}
		if err != nil {
			exit = err
			failures++
			continue
		}
		answered := s.watch(cmd)
		exit = cmd.Wait()
		if failures++; answered() {
			failures = 0
		}
	}
	if !s.isStopping() {
		s.err = fmt.Errorf("%s ended: %w", s.name, exitError(exit))
		s.log.Error("a server of the dev stack ended and is not restarted", "server", s.name, "error", s.err)
	}
}

// restart waits out the backoff and starts the child again.
func (s *supervisor) restart(failures int, exit error) (*exec.Cmd, error) {
	if s.isStopping() {
		return nil, errStopping
	}
	backoff := cmp.Or(s.backoff, defaultBackoff)
	delay := min(backoff<<failures, backoff*backoffFactor)
	s.log.Warn("a server of the dev stack ended, restarting it", "server", s.name, "exit", exitError(exit), "in", delay)
	select {
	case <-time.After(delay):
	case <-s.stopping:
		return nil, errStopping
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanLimit)
	defer cancel()
	if err := s.clean(ctx); err != nil {
		return nil, err
	}
	return s.spawn()
}

// watch logs when a restarted child answers again. The function that it returns ends the watch and says whether it did.
func (s *supervisor) watch(cmd *exec.Cmd) (answered func() bool) {
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan bool, 1)
	go func() {
		err := s.awaitReady(ctx, nil)
		if err == nil {
			s.log.Info("a server of the dev stack is back", "server", s.name, "pid", cmd.Process.Pid)
		}
		result <- err == nil
	}()
	return func() bool { cancel(); return <-result }
}

// awaitReady asks the child until it answers, it has ended, or the context has.
func (s *supervisor) awaitReady(ctx context.Context, ended <-chan struct{}) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		attempt, cancel := context.WithTimeout(ctx, 5*time.Second)
		err := s.ready(attempt)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		select {
		case <-ended:
			return cmp.Or(s.err, errStopping)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("not ready: %w", ctx.Err()), last)
		case <-tick.C:
		}
	}
}

func (s *supervisor) spawn() (*exec.Cmd, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isStopping() {
		return nil, errStopping
	}
	// Else a stranger who listens there could answer in the place of a child that ends because it cannot.
	if s.port != 0 {
		if err := checkPort(Port{Number: s.port, Purpose: s.name}); err != nil {
			return nil, err
		}
	}
	cmd := s.command()
	defer closeLog(cmd)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s.process = cmd.Process
	if s.started == nil {
		return cmd, nil
	}
	if err := s.started(cmd); err != nil {
		return nil, errors.Join(err, cmd.Process.Kill(), cmd.Wait())
	}
	return cmd, nil
}

// stop ends the child and waits for it. When the context ends first, the child is killed.
func (s *supervisor) stop(ctx context.Context) error {
	s.signal(s.stopSig)
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		s.kill()
		<-s.done
		return fmt.Errorf("stop %s: killed it: %w", s.name, ctx.Err())
	}
}

func (s *supervisor) kill() { s.signal(syscall.SIGKILL) }

// signal ends the supervision and sends the signal to the child that runs now, if any.
func (s *supervisor) signal(sig syscall.Signal) {
	s.stopOnce.Do(func() { close(s.stopping) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		_ = s.process.Signal(sig) // only fails when the child has ended, which is what is wanted
	}
}

func (s *supervisor) isStopping() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

func (s *supervisor) pid() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.Pid
}

// failure is why the child ended without being stopped, nil while it runs.
func (s *supervisor) failure() error {
	select {
	case <-s.done:
		return s.err
	default:
		return nil
	}
}

// exitError gives an exit with status 0 a text, because a server is not expected to end.
func exitError(err error) error {
	if err == nil {
		return errors.New("exit status 0")
	}
	return err
}
