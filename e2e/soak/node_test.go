package soak

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"holdfast/internal/devstack/child"
	"holdfast/internal/devstack/stacktest"
)

// node is a process of Holdfast. It is restarted when it ends.
type node struct {
	*child.Supervisor

	ingress, operator string // base URLs
	program           string
}

const (
	kill   = syscall.SIGKILL
	freeze = syscall.SIGSTOP
	thaw   = syscall.SIGCONT
)

func (w *world) start(name string) *node {
	w.t.Helper()
	ports, err := stacktest.FreePorts(2)
	require.NoError(w.t, err)
	public, private := "127.0.0.1:"+ports[0], "127.0.0.1:"+ports[1]
	n := &node{ingress: "http://" + public, operator: "http://" + private, program: w.binary}
	n.Supervisor = &child.Supervisor{
		Name: name, StopSignal: syscall.SIGTERM, Backoff: time.Second, Log: slog.New(slog.DiscardHandler), Ready: n.ready,
		Command: func() *exec.Cmd {
			c := exec.Command(w.binary, "serve")
			c.Env = append(w.environment(), "HOLDFAST_INGRESS_ADDR="+public, "HOLDFAST_OPERATOR_ADDR="+private)
			child.LogTo(c, filepath.Join(w.dir, name+".log"))
			child.Prepare(c, syscall.SIGKILL, nil)
			return c
		},
	}
	require.NoError(w.t, n.Start(w.t.Context()), child.LogTail(filepath.Join(w.dir, name+".log")))
	w.t.Cleanup(func() {
		n.Kill()
		<-n.Done()
	})
	return n
}

// signal sends a signal to the process, which is restarted if it ends. Between two lives, another process may have its PID.
func (n *node) signal(s syscall.Signal) {
	if pid := n.PID(); strings.HasPrefix(child.CommandLine(pid), n.program) {
		_ = syscall.Kill(pid, s)
	}
}

func (n *node) ready(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.operator+"/readyz", http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("readyz answers %s", response.Status)
	}
	return nil
}
