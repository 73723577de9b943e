package chaos

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is a program that can be killed, frozen and restarted. If it exits on its own, it is restarted after a second, like a
// service manager would.
type process struct {
	name    string
	command func() *exec.Cmd
	ready   func(context.Context) error
	log     string   // the file with its output, over all its lives
	output  *os.File // replaces the file unless nil

	mu      sync.Mutex
	running *exec.Cmd     // nil between two lives
	stopped chan struct{} // closed to end the restarts; nil when it shouldn't run
	ended   chan struct{} // closed when it has ended permanently
}

const restartPause = time.Second

// launch starts it without waiting until it is ready.
func (p *process) launch(t testing.TB) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped != nil {
		return
	}
	p.stopped, p.ended = make(chan struct{}), make(chan struct{})
	started := make(chan error, 1)
	go p.live(p.stopped, p.ended, started)
	require.NoError(t, <-started, "start %s", p.name)
}

// live runs on its own thread: Linux ends the child when the thread that created it ends.
func (p *process) live(stopped, ended chan struct{}, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(ended)
	command, err := p.spawn()
	p.running = command // the caller of launch holds the lock
	started <- err
	for err == nil {
		_ = command.Wait()
		p.set(nil)
		select {
		case <-stopped:
			return
		case <-time.After(restartPause):
		}
		p.mu.Lock()
		select {
		case <-stopped: // meanwhile
			p.mu.Unlock()
			return
		default:
		}
		command, err = p.spawn()
		p.running = command
		p.mu.Unlock()
	}
}

func (p *process) spawn() (*exec.Cmd, error) {
	command := p.command()
	file, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if p.output != nil {
		file = p.output
	}
	command.Stdout, command.Stderr = file, file
	dieWithUs(command)
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	return command, nil
}

func (p *process) set(command *exec.Cmd) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = command
}

// pid is 0 while it isn't running.
func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		return 0
	}
	return p.running.Process.Pid
}

func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running != nil {
		_ = p.running.Process.Signal(s)
	}
}

// crash kills it; it is restarted.
func (p *process) crash() { p.signal(syscall.SIGKILL) }

// freeze suspends it, thaw resumes it.
func (p *process) freeze() { p.signal(syscall.SIGSTOP) }
func (p *process) thaw()   { p.signal(syscall.SIGCONT) }

// kill ends it immediately, until the next launch.
func (p *process) kill() { p.end(syscall.SIGKILL, time.Minute) }

// terminate stops it in order and waits for its end.
func (p *process) terminate(t testing.TB) {
	t.Helper()
	require.True(t, p.end(syscall.SIGTERM, time.Minute), "%s does not end when it is told to", p.name)
}

func (p *process) end(s syscall.Signal, limit time.Duration) bool {
	p.mu.Lock()
	if p.stopped == nil {
		p.mu.Unlock()
		return true
	}
	close(p.stopped)
	ended := p.ended
	p.stopped = nil
	if p.running != nil {
		_ = p.running.Process.Signal(s)
	}
	p.mu.Unlock()
	select {
	case <-ended:
		return true
	case <-time.After(limit):
		p.signal(syscall.SIGKILL)
		<-ended
		return false
	}
}

// awaitReady waits until it answers.
func (p *process) awaitReady(t testing.TB) {
	t.Helper()
	eventually(t, 2*time.Minute, p.name+" is ready", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		return p.ready(ctx)
	})
}

// start is launch and awaitReady.
func (p *process) start(t testing.TB) {
	t.Helper()
	p.launch(t)
	p.awaitReady(t)
}

// eventually retries until there is no error.
func eventually(t testing.TB, limit time.Duration, what string, check func() error) {
	t.Helper()
	deadline := time.Now().Add(limit)
	var err error
	for time.Now().Before(deadline) {
		if err = check(); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	require.FailNow(t, fmt.Sprintf("after %s, not yet: %s", limit, what), "%v", err)
}

// logPath returns the log file of a process.
func logPath(dir, name string) string { return filepath.Join(dir, name+".log") }
