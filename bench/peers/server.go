package peers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"holdfast/bench/lab"
	"holdfast/internal/devstack/child"
)

// server is a program that runs until it is stopped. One that is killed is started again.
type server struct {
	*child.Supervisor

	label, log string
}

// host starts programs on loopback, each in its own folder.
type host struct {
	dir   string
	meter *lab.Meter
	log   *slog.Logger
}

// program describes a server.
type program struct {
	// name names the folder and the log, and label the CPU time.
	name, label string
	port        int
	command     func() *exec.Cmd
	ready       func(context.Context) error
}

// start starts a program, and returns when it is ready.
func (h *host) start(ctx context.Context, p program) (*server, error) {
	log := filepath.Join(h.dir, p.name+".log")
	s := &server{label: p.label, log: log, Supervisor: &child.Supervisor{
		Name: p.name, Port: p.port, StopSignal: syscall.SIGTERM, Log: h.log, Ready: p.ready,
		Command: func() *exec.Cmd {
			cmd := p.command()
			child.LogTo(cmd, log)
			child.Prepare(cmd, syscall.SIGTERM, nil)
			return cmd
		},
	}}
	if err := s.Start(ctx); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, child.LogTail(log))
	}
	h.meter.Track(p.label, s.PID())
	return s, nil
}

// stopLimit bounds the stop of a server; after it, the server is killed.
const stopLimit = 20 * time.Second

// stopAll stops servers, the last one first.
func stopAll(servers []*server) (err error) {
	for i := len(servers) - 1; i >= 0; i-- {
		ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
		err = errors.Join(err, servers[i].Stop(ctx))
		cancel()
	}
	return err
}

// kill kills processes at once with SIGKILL. Their supervisors start them again.
func kill(pids []int) (err error) {
	for _, pid := range pids {
		err = errors.Join(err, syscall.Kill(pid, syscall.SIGKILL))
	}
	return err
}

func pidsOf(servers []*server) (pids []int) {
	for _, s := range servers {
		pids = append(pids, s.PID())
	}
	return pids
}

// awaitAll waits until all servers are ready, after their processes were killed.
func awaitAll(ctx context.Context, servers []*server) error {
	for _, s := range servers {
		err := lab.Poll(ctx, func() (bool, error) { return s.Ready(ctx) == nil, s.Failure() })
		if err != nil {
			return fmt.Errorf("%s isn't back: %w\n%s", s.Name, err, child.LogTail(s.log))
		}
	}
	return nil
}

// address returns the address of a port on loopback.
func address(port int) string { return net.JoinHostPort(child.Loopback, strconv.Itoa(port)) }

// freePorts returns ports that nothing uses, all different.
func freePorts(n int) (ports []int, err error) {
	var open []net.Listener
	defer func() {
		for _, l := range open {
			l.Close()
		}
	}()
	for range n {
		l, err := net.Listen("tcp", address(0))
		if err != nil {
			return nil, err
		}
		open = append(open, l)
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// answers returns a probe that sends a greeting to a port and expects the answer to begin like this.
func answers(port int, greeting, answer []byte) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address(port))
		if err != nil {
			return err
		}
		defer conn.Close()
		if deadline, ok := ctx.Deadline(); ok {
			_ = conn.SetDeadline(deadline)
		}
		if _, err := conn.Write(greeting); err != nil {
			return err
		}
		got := make([]byte, len(answer))
		if _, err := io.ReadFull(conn, got); err != nil {
			return err
		}
		if !bytes.Equal(got, answer) {
			return fmt.Errorf("port %d answers %q", port, got)
		}
		return nil
	}
}

// httpLimit bounds a request that sets a system up.
const httpLimit = 20 * time.Second

// page returns a probe that expects 200 from a page.
func page(url string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := request(ctx, http.MethodGet, url, "", nil)
		return err
	}
}

// request sends JSON and returns the answer; another status than 2xx is an error.
func request(ctx context.Context, method, url, bearer string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, httpLimit)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	response, err := (&http.Client{}).Do(r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s answers %s: %s", method, url, response.Status, answer)
	}
	return answer, err
}
