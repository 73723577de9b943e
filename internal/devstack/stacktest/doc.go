// Package stacktest gives tests a PostgreSQL and a Temporal of their own: the real programs, started by the test.
//
// From a test: [NewCluster], [NewTemporal]. From TestMain, so that a package's tests share one:
//
//	var cluster *stacktest.Cluster
//
//	func TestMain(m *testing.M) {
//		os.Exit(stacktest.Main(m, func() (err error) {
//			if cluster, err = stacktest.StartCluster(); err != nil {
//				return err
//			}
//			return cluster.Template(migrate)
//		}))
//	}
//
//	func TestX(t *testing.T) { url := cluster.Database(t) … }
//
// A missing program fails the test and says what to install: a test that skips itself guards nothing. With -short, nothing is
// started, and tests that ask for a server are skipped.
package stacktest

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"holdfast/internal/devstack/child"
)

const (
	startLimit = 2 * time.Minute // a machine that builds on all its cores is slow
	stopLimit  = 20 * time.Second
)

// quiet keeps the dev stack's log lines out of the tests' output.
var quiet = slog.New(slog.DiscardHandler)

var started struct {
	sync.Mutex
	stops []func()
}

// Main calls setUp, runs the tests and stops everything that this package's Start functions have started. It returns the exit
// code for os.Exit. With -short, it skips setUp, and the tests that need a server skip themselves.
func Main(m *testing.M, setUp func() error) int {
	flag.Parse()
	if testing.Short() {
		return m.Run()
	}
	defer stopAll()
	if err := setUp(); err != nil {
		fmt.Fprintf(os.Stderr, "set up tests: %v\n", err)
		return 1
	}
	return m.Run()
}

const leftOut = "skipped: with -short, no servers are started"

// SkipIfShort skips a test that needs a server if -short is set. This package's New functions call it.
func SkipIfShort(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip(leftOut)
	}
}

// ExitIfShort exits the test program successfully if -short is set. It is for a TestMain whose tests all need servers.
func ExitIfShort() {
	flag.Parse()
	if testing.Short() {
		fmt.Fprintln(os.Stderr, leftOut)
		os.Exit(0)
	}
}

// StopAtExit makes Main stop what a test has started outside this package, latest first.
func StopAtExit(stop func()) {
	started.Lock()
	defer started.Unlock()
	started.stops = append(started.stops, stop)
}

func stopAll() {
	started.Lock()
	defer started.Unlock()
	for i := len(started.stops) - 1; i >= 0; i-- {
		started.stops[i]()
	}
	started.stops = nil
}

func startContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), startLimit)
}

func stopContext() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), stopLimit)
}

// FreePorts returns ports on 127.0.0.1 that were free a moment ago, outside the range of outgoing connections.
func FreePorts(n int) (ports []string, err error) {
	for range n {
		port, err := child.FreePort()
		if err != nil {
			return nil, err
		}
		ports = append(ports, strconv.Itoa(port))
	}
	return ports, nil
}
