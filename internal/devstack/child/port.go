package child

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// Loopback is the address of all servers of the dev stack.
const Loopback = "127.0.0.1"

// A Port is a port to listen on.
type Port struct {
	Number  int
	Purpose string // what it is for: "ingress"
	Change  string // how to choose another one: "--ingress-port or HOLDFAST_INGRESS_ADDR"
}

// A PortInUseError says which process uses a port, if known, and how to choose another.
type PortInUseError struct {
	Port    int
	Purpose string
	Owner   string // name of the listening program; "" if unknown
	PID     int    // its process id; 0 if unknown
	Change  string
}

func (e *PortInUseError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "port %d for %s is in use", e.Port, e.Purpose)
	if e.PID != 0 {
		fmt.Fprintf(&b, " by %s (pid %d)", e.Owner, e.PID)
	}
	if e.Change != "" {
		fmt.Fprintf(&b, "; choose another with %s", e.Change)
	}
	return b.String()
}

// CheckPorts checks that the ports are free on Loopback and returns a joined [PortInUseError] for each that isn't.
func CheckPorts(ports ...Port) error {
	var problems []error
	for _, port := range ports {
		problems = append(problems, checkPort(port))
	}
	return errors.Join(problems...)
}

// A port that we have probed may stay in use while a process is being started that has inherited our socket: it keeps the socket
// until it runs its own program. So a port counts as used only after that time.
const (
	portTries = 10
	portPause = 20 * time.Millisecond
)

func checkPort(port Port) error {
	err := tryPort(port.Number)
	for tries := 1; errors.Is(err, syscall.EADDRINUSE) && tries < portTries; tries++ {
		<-time.After(portPause)
		err = tryPort(port.Number)
	}
	if err == nil {
		return nil
	}
	if !errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("port %d for %s cannot be used (choose another with %s): %w",
			port.Number, port.Purpose, port.Change, err)
	}
	pid, owner := portOwner(port.Number)
	return &PortInUseError{Port: port.Number, Purpose: port.Purpose, Owner: owner, PID: pid, Change: port.Change}
}

func tryPort(port int) error {
	listener, err := net.Listen("tcp", net.JoinHostPort(Loopback, strconv.Itoa(port)))
	if err != nil {
		return err
	}
	return listener.Close()
}

// Free ports are assigned in turn from a random start, so that servers starting concurrently get different ones.
var (
	firstPort  = rand.IntN(portNumber)
	portsGiven atomic.Int64
)

const portNumber = 12000

// FreePort returns a port that was free a moment ago. It is below the range of outgoing connections, so that none of those
// occupies it when a server is restarted.
func FreePort() (int, error) {
	const lowest, tries = 20000, 100
	var err error
	for range tries {
		port := lowest + (firstPort+int(portsGiven.Add(1)))%portNumber
		if err = tryPort(port); err == nil {
			return port, nil
		}
	}
	return 0, fmt.Errorf("find a free port from %d: %w", lowest, err)
}

// EnsurePort returns the wanted port or, if that is 0, the one that the file records if it is free, else any free one. It
// records the result, so that a noted address stays valid over restarts.
func EnsurePort(file string, wanted int) (int, error) {
	port := wanted
	if port == 0 {
		port = ReadNumber(file)
		if port == 0 || tryPort(port) != nil {
			var err error
			if port, err = FreePort(); err != nil {
				return 0, err
			}
		}
	}
	return port, os.WriteFile(file, []byte(strconv.Itoa(port)+"\n"), 0o644)
}
