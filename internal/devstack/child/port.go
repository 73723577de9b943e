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

// Loopback is where everything listens that the dev stack starts.
const Loopback = "127.0.0.1"

// A Port is one that somebody wants to listen on.
type Port struct {
	Number  int
	Purpose string // who wants it: "ingress"
	Change  string // how to choose another one: "--ingress-port or HOLDFAST_INGRESS_ADDR"
}

// A PortInUseError says that a port is taken, by whom as far as that can be known, and how to choose another.
type PortInUseError struct {
	Port    int
	Purpose string
	Owner   string // name of the program that listens there; "" if unknown
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

// CheckPorts looks whether the ports are free on Loopback and returns a [PortInUseError] for each that is not, joined.
func CheckPorts(ports ...Port) error {
	var problems []error
	for _, port := range ports {
		problems = append(problems, checkPort(port))
	}
	return errors.Join(problems...)
}

// A port that we have only tried is not free again while a process is being started that has inherited our socket: it keeps it
// until it runs its own program. So a port is taken if it is for as long as that.
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

// Free ports are given in turn, from a random one on, so that servers that start at the same time are not given the same.
var (
	firstPort  = rand.IntN(portNumber)
	portsGiven atomic.Int64
)

const portNumber = 12000

// FreePort is a port that was free a moment ago. It lies below the ports that systems give to outgoing connections, so
// that none of those sits on it when a server is started again.
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

// EnsurePort is the wanted port or, when that is 0, the one that the file remembers if it is free, else any free one.
// What it returns is remembered, so that an address that somebody noted stays good over restarts.
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
