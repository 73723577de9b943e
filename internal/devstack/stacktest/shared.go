package stacktest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
)

// SharedVariable names the socket on which [Share] answers. Without it, each package starts servers of its own.
const SharedVariable = "STACKTEST_SERVERS" // HOLDFAST_ would make it an unknown setting

const socketName = "socket"

// sharedServer is the answer for a path: what a test needs to use a server that another process has started.
type sharedServer struct {
	URL     string // of PostgreSQL, without a database
	Address string // of Temporal
	Dir     string // of the server's files
	Error   string
}

// Share runs a command whose tests share one PostgreSQL and one Temporal: StartCluster and StartTemporal return these. Each is
// started when a test first asks for it. Packages get databases and namespaces of their own. They can't stop a shared server;
// NewCluster and NewTemporal still start one for a test. Share returns the command's exit code.
func Share(command []string) int {
	defer stopAll()
	dir, err := socketDir()
	if err != nil {
		return failed(err)
	}
	StopAtExit(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, socketName)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return failed(err)
	}
	go func() { _ = http.Serve(listener, sharedHandler()) }() //nolint:gosec // its clients are our own tests
	StopAtExit(func() { _ = listener.Close() })

	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM) // the servers end after the tests
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), SharedVariable+"="+socket)
	if err := cmd.Start(); err != nil {
		return failed(err)
	}
	go func() {
		for s := range signals {
			if s == syscall.SIGTERM { // a terminal's SIGINT has reached it already
				_ = cmd.Process.Signal(s)
			}
		}
	}()
	if err := cmd.Wait(); err != nil && cmd.ProcessState == nil {
		return failed(err)
	}
	return cmd.ProcessState.ExitCode()
}

// socketDir returns a new directory that only we can read, since the answers have the superuser's password. It has the same name
// each time, unless another command is running: Go remembers a test's result only while SharedVariable, which the test reads, has
// its value.
func socketDir() (string, error) {
	if cache, err := os.UserCacheDir(); err == nil {
		dir := filepath.Join(cache, "holdfast", "test-servers")
		other, err := new(net.Dialer).DialContext(context.Background(), "unix", filepath.Join(dir, socketName))
		if err == nil {
			_ = other.Close()
			return os.MkdirTemp("", "holdfast-servers-")
		}
		_ = os.RemoveAll(dir) // of a command that was killed
		if os.MkdirAll(dir, 0o700) == nil {
			return dir, nil
		}
	}
	return os.MkdirTemp("", "holdfast-servers-")
}

func failed(err error) int {
	fmt.Fprintf(os.Stderr, "share servers among tests: %v\n", err)
	return 1
}

func sharedHandler() http.Handler {
	mux := http.NewServeMux()
	for path, start := range map[string]func() (sharedServer, error){
		"/postgres": func() (sharedServer, error) {
			c, err := newCluster(nil)
			if err != nil {
				return sharedServer{}, err
			}
			StopAtExit(c.remove)
			return sharedServer{URL: c.URL(""), Dir: c.dir}, nil
		},
		"/temporal": func() (sharedServer, error) {
			s, err := newTemporal(TemporalOptions{Durable: true, DynamicConfig: Promptly})
			if err != nil {
				return sharedServer{}, err
			}
			StopAtExit(s.remove)
			return sharedServer{Address: s.Address(), Dir: s.dir}, nil
		},
	} {
		once := sync.OnceValues(start)
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			server, err := once()
			if err != nil {
				server.Error = err.Error()
			}
			_ = json.NewEncoder(w).Encode(server)
		})
	}
	return mux
}

// askShared returns the shared server of a path; it is absent if no servers are shared.
func askShared(path string) (server sharedServer, shared bool, err error) {
	socket := os.Getenv(SharedVariable)
	if socket == "" {
		return server, false, nil
	}
	ctx, cancel := startContext()
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://servers"+path, nil)
	if err != nil {
		return server, true, err
	}
	response, err := client.Do(request)
	if err != nil {
		return server, true, err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&server); err != nil {
		return server, true, err
	}
	if server.Error != "" {
		return server, true, errors.New(server.Error)
	}
	return server, true, nil
}
