package lab

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Secret signs what the load generator sends.
const Secret = "whsec_c2lnbmluZyBrZXkgb2YgdGhlIGJlbmNobWFyaw" //nolint:gosec // it opens a server on loopback for some minutes

// migrateAttempts is above 1 because a Temporal that has just started may be too slow for the schedules; migrating again is
// safe.
const migrateAttempts = 3

// readyLimit bounds the start of a process of the product.
const readyLimit = time.Minute

// Node is one process of the product.
type Node struct {
	// Ingress, Operator and Debug are base URLs.
	Ingress, Operator, Debug string
	PID                      int

	lab     *Lab
	command *exec.Cmd
	log     *os.File
	exited  chan struct{} // closed once failure is set
	failure error         // of the process
}

// Product configures a process of the product.
type Product struct {
	Role, Database string
	// Program overrides the lab's binary; "" uses that.
	Program string
	// Label has the CPU time of the process; "" is LabelHoldfast.
	Label string
	// Environ has additional variables, of the form NAME=VALUE.
	Environ []string
}

// Migrate creates a database and a namespace for the product, and migrates them.
func (l *Lab) Migrate(ctx context.Context, database string) error {
	return l.MigrateFor(ctx, Product{Database: database})
}

// MigrateFor is Migrate with the program of a product.
func (l *Lab) MigrateFor(ctx context.Context, p Product) error {
	if err := errors.Join(l.Postgres.CreateDatabase(ctx, p.Database), l.makeNamespace(ctx, p.Database)); err != nil {
		return err
	}
	var err error
	for range migrateAttempts {
		if err = l.Command(ctx, p, "migrate"); err == nil {
			return l.awaitSearchAttributes(ctx, p.Database)
		}
	}
	return err
}

// Command runs a command of a product's program, with its environment.
func (l *Lab) Command(ctx context.Context, p Product, arguments ...string) error {
	command := exec.CommandContext(ctx, cmp.Or(p.Program, l.program()), arguments...)
	command.Env = l.environment(p.Database, p.Environ...)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("holdfast %s: %w\n%s", strings.Join(arguments, " "), err, out)
	}
	return nil
}

func (l *Lab) program() string { return filepath.Join(l.Bin, "holdfast") }

// environment turns telemetry on: metrics, and traces to a collector that drops them. The log goes to a file.
func (l *Lab) environment(database string, more ...string) []string {
	inherited := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return slices.ContainsFunc([]string{"HOLDFAST_", "TEMPORAL_", "OTEL_", "DATABASE_URL="}, func(prefix string) bool {
			return strings.HasPrefix(variable, prefix)
		})
	})
	for _, variable := range l.Secrets {
		more = append(more, variable+"="+Secret)
	}
	return append(append(inherited,
		"DATABASE_URL="+l.Postgres.URL(database),
		"TEMPORAL_ADDRESS="+l.Temporal.Address(),
		"TEMPORAL_NAMESPACE="+l.Namespace(database),
		"HOLDFAST_PROVIDERS_DIR="+l.Definitions,
		"OTEL_EXPORTER_OTLP_ENDPOINT="+l.sink.url,
	), more...)
}

// StartProduct starts a process of the product and returns when it is ready.
func (l *Lab) StartProduct(ctx context.Context, p Product) (*Node, error) {
	ports, err := freeAddresses(3)
	if err != nil {
		return nil, err
	}
	n := &Node{
		Ingress: "http://" + ports[0], Operator: "http://" + ports[1], lab: l, exited: make(chan struct{}),
		command: exec.CommandContext(context.WithoutCancel(ctx), cmp.Or(p.Program, l.program()), p.Role),
	}
	n.command.Env = l.environment(p.Database, "HOLDFAST_INGRESS_ADDR="+ports[0], "HOLDFAST_OPERATOR_ADDR="+ports[1],
		"HOLDFAST_INGRESS_PUBLIC_URL="+n.Ingress)
	n.command.Env = slices.Concat(n.command.Env, l.Profile.Product, p.Environ)
	if l.Debug {
		n.Debug = "http://" + ports[2]
		n.command.Env = append(n.command.Env, "HOLDFAST_DEBUG_ADDR="+ports[2])
	}
	n.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for this process, which stops it in order
	if n.log, err = os.OpenFile(filepath.Join(l.Dir, p.Role+".log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600); err != nil {
		return nil, err
	}
	n.command.Stdout, n.command.Stderr = n.log, n.log
	if err := n.command.Start(); err != nil {
		return nil, fmt.Errorf("start holdfast %s: %w", p.Role, err)
	}
	n.PID = n.command.Process.Pid
	l.Meter.Track(cmp.Or(p.Label, LabelHoldfast), n.PID)
	go func() {
		n.failure = n.command.Wait()
		close(n.exited)
	}()
	if err := n.awaitReady(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start holdfast %s: %w\n%s", p.Role, err, n.logTail()), n.Stop())
	}
	return n, nil
}

func (n *Node) awaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	return Poll(ctx, func() (bool, error) {
		select {
		case <-n.exited:
			return false, errors.New("it has ended")
		default:
		}
		_, err := n.Get(ctx, n.Operator+"/readyz")
		return err == nil, nil
	})
}

// Get requests a page of the process.
func (n *Node) Get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := (&http.Client{}).Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s answers %s", url, response.Status)
	}
	return body, err
}

// Stop asks the process to end and waits for it. It returns an error unless the process ended cleanly.
func (n *Node) Stop() error {
	defer n.log.Close()
	_ = n.command.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-n.exited:
		if n.failure != nil {
			return fmt.Errorf("holdfast (process %d): %w\n%s", n.PID, n.failure, n.logTail())
		}
		return nil
	case <-time.After(2 * stopLimit):
		_ = n.command.Process.Kill()
		<-n.exited
		return fmt.Errorf("holdfast (process %d) did not end when it was told to:\n%s", n.PID, n.logTail())
	}
}

func (n *Node) logTail() []byte {
	raw, _ := os.ReadFile(n.log.Name())
	lines := bytes.Split(raw, []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-20):], []byte("\n"))
}

// pollEvery is the polling interval.
const pollEvery = 100 * time.Millisecond

// Poll waits until isSo returns true.
func Poll(ctx context.Context, isSo func() (bool, error)) error {
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		if done, err := isSo(); done || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func freeAddresses(n int) (addresses []string, err error) {
	var open []net.Listener // kept open, so that no port is returned twice
	defer func() {
		for _, listener := range open {
			listener.Close()
		}
	}()
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		open = append(open, listener)
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, nil
}

// Peak returns the highest resident memory that the process has ever had, in bytes.
func (n *Node) Peak() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", n.PID))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("the kernel doesn't say how much memory the process had")
}
