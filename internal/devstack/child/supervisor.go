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

// A Supervisor keeps one child process running until it is stopped.
//
// The child is started, and waited for, by one goroutine that is locked to its thread: Linux sends the parent death
// Signal when the *thread* that created the child ends, so that thread has to live as long as the child.
type Supervisor struct {
	Name       string
	Command    func() *exec.Cmd            // a new command for every start
	Clean      func(context.Context) error // ends what an earlier run left behind, before every start
	Ready      func(context.Context) error // returns nil once the child answers
	Started    func(*exec.Cmd) error       // told of every start; may be nil
	Port       int                         // where the child listens; 0: nowhere
	StopSignal syscall.Signal
	Backoff    time.Duration // before the first restart, doubled for each that fails; 0: a tenth of a second
	Log        *slog.Logger

	keep     atomic.Bool // false until the first start succeeded: only then is a death followed by a restart
	stopping chan struct{}
	stopOnce sync.Once
	done     chan struct{}
	err      error // why it ended, valid once done is closed

	mu      sync.Mutex
	process *os.Process
}

// Start runs the child and returns when it is ready. A child that ends before that is an error, not a restart.
func (s *Supervisor) Start(ctx context.Context) error {
	s.stopping, s.done = make(chan struct{}), make(chan struct{})
	if err := s.Clean(ctx); err != nil {
		return err
	}
	started := make(chan error, 1)
	go s.run(started)
	if err := <-started; err != nil {
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := s.awaitReady(ctx, s.done); err != nil {
		s.Kill()
		<-s.done
		return fmt.Errorf("start %s: %w", s.Name, err)
	}
	s.keep.Store(true)
	select {
	case <-s.done: // it answered once and ended before it was kept
		return fmt.Errorf("start %s: %w", s.Name, cmp.Or(s.err, errStopping))
	default:
		return nil
	}
}

// run is the life of the supervisor: start, wait, and start again.
func (s *Supervisor) run(started chan<- error) {
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
		s.err = fmt.Errorf("%s ended: %w", s.Name, exitError(exit))
		s.Log.Error("a server of the dev stack ended and is not restarted", "server", s.Name, "error", s.err)
	}
}

// restart waits out the backoff and starts the child again.
func (s *Supervisor) restart(failures int, exit error) (*exec.Cmd, error) {
	if s.isStopping() {
		return nil, errStopping
	}
	backoff := cmp.Or(s.Backoff, defaultBackoff)
	delay := min(backoff<<failures, backoff*backoffFactor)
	s.Log.Warn("a server of the dev stack ended, restarting it", "server", s.Name, "exit", exitError(exit), "in", delay)
	select {
	case <-time.After(delay):
	case <-s.stopping:
		return nil, errStopping
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanLimit)
	defer cancel()
	if err := s.Clean(ctx); err != nil {
		return nil, err
	}
	return s.spawn()
}

// watch logs when a restarted child answers again. The function that it returns ends the watch and says whether it did.
func (s *Supervisor) watch(cmd *exec.Cmd) (answered func() bool) {
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan bool, 1)
	go func() {
		err := s.awaitReady(ctx, nil)
		if err == nil {
			s.Log.Info("a server of the dev stack is back", "server", s.Name, "pid", cmd.Process.Pid)
		}
		result <- err == nil
	}()
	return func() bool { cancel(); return <-result }
}

// awaitReady asks the child until it answers, it has ended, or the context has.
func (s *Supervisor) awaitReady(ctx context.Context, ended <-chan struct{}) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
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
		case <-ended:
			return cmp.Or(s.err, errStopping)
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("not ready: %w", ctx.Err()), last)
		case <-tick.C:
		}
	}
}

func (s *Supervisor) spawn() (*exec.Cmd, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isStopping() {
		return nil, errStopping
	}
	// Else a stranger who listens there could answer in the place of a child that ends because it cannot.
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

// Stop ends the child and waits for it. When the context ends first, the child is killed.
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

// Kill ends the supervision, and the child at once.
func (s *Supervisor) Kill() { s.Signal(syscall.SIGKILL) }

// Signal ends the supervision and sends the signal to the child that runs now, if any.
func (s *Supervisor) Signal(sig syscall.Signal) {
	s.stopOnce.Do(func() { close(s.stopping) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		_ = s.process.Signal(sig) // only fails when the child has ended, which is what is wanted
	}
}

func (s *Supervisor) isStopping() bool {
	select {
	case <-s.stopping:
		return true
	default:
		return false
	}
}

// PID is that of the child that runs, or has run last.
func (s *Supervisor) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.Pid
}

// Failure is why the child ended without being stopped, nil while it runs.
func (s *Supervisor) Failure() error {
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

// Done is closed once the child has ended for good.
func (s *Supervisor) Done() <-chan struct{} { return s.done }
