// Package proxytest starts forward proxies for tests: squid, tinyproxy, microsocks and dante, as Debian packages them.
package proxytest

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Outgoing is the address from which the proxies connect, so that an endpoint can tell them from a direct connection.
const Outgoing = "127.0.0.5"

// The credential of a proxy with a password.
const (
	User     = "holdfast"
	Password = "p ss:w@rd/%," //nolint:gosec // of tests
)

// Options configure a proxy.
type Options struct {
	// Port is where it listens on loopback; 0 picks a free one.
	Port int
	// Password demands User and Password.
	Password bool
	// Deny lists the networks that its rules refuse; not with tinyproxy and microsocks.
	Deny []netip.Prefix
}

// Proxy is a running proxy.
type Proxy struct {
	// Address is host:port.
	Address string
	stop    func()
}

// Stop ends the proxy.
func (p *Proxy) Stop() { p.stop() }

// Port returns the port where it listens.
func (p *Proxy) Port(t *testing.T) int {
	t.Helper()
	return int(netip.MustParseAddrPort(p.Address).Port())
}

// find returns a program, or skips the test. Continuous integration installs tinyproxy and microsocks.
func find(t *testing.T, name, debian string, isInstalled bool) string {
	t.Helper()
	for _, in := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin") {
		if found, err := exec.LookPath(filepath.Join(in, name)); err == nil {
			return found
		}
	}
	if isInstalled && os.Getenv("NO_SKIP") != "" {
		t.Fatalf("there is no %s on this machine: apt-get install %s", name, debian)
	}
	t.Skipf("there is no %s on this machine: apt-get install %s", name, debian)
	return ""
}

// Tinyproxy starts an HTTP proxy.
func Tinyproxy(t *testing.T, o Options) *Proxy {
	t.Helper()
	program, dir, port := find(t, "tinyproxy", "tinyproxy-bin", true), folder(t), portFor(t, o)
	conf := fmt.Sprintf("Port %d\nListen 127.0.0.1\nBind %s\nTimeout 60\nMaxClients 500\nLogLevel Error\n", port, Outgoing)
	if o.Password {
		conf += fmt.Sprintf("BasicAuth %s %s\n", User, "plain-password") // it knows no others
	}
	return start(t, port, program, "-d", "-c", write(t, dir, "tinyproxy.conf", conf))
}

// TinyproxyPassword is the password of Tinyproxy, whose file can't express Password.
const TinyproxyPassword = "plain-password"

// Microsocks starts a SOCKS5 proxy.
func Microsocks(t *testing.T, o Options) *Proxy {
	t.Helper()
	program, port := find(t, "microsocks", "microsocks", true), portFor(t, o)
	args := []string{"-i", "127.0.0.1", "-p", fmt.Sprint(port), "-b", Outgoing}
	if o.Password {
		args = append(args, "-u", User, "-P", Password)
	}
	return start(t, port, program, args...)
}

// Squid starts an HTTP proxy.
func Squid(t *testing.T, o Options) *Proxy {
	t.Helper()
	program, dir, port := find(t, "squid", "squid", false), folder(t), portFor(t, o)
	var conf strings.Builder
	fmt.Fprintf(&conf, "http_port 127.0.0.1:%d\npid_filename none\ncache deny all\naccess_log none\ncache_log /dev/null\n"+
		"coredump_dir %s\ntcp_outgoing_address %s\nshutdown_lifetime 1 seconds\nconnect_timeout 5 seconds\n"+
		"acl CONNECT method CONNECT\n", port, dir, Outgoing)
	if o.Password {
		hash, err := exec.Command("openssl", "passwd", "-apr1", Password).Output()
		require.NoError(t, err)
		users := write(t, dir, "users", User+":"+string(hash))
		fmt.Fprintf(&conf, "auth_param basic program /usr/lib/squid/basic_ncsa_auth %s\nacl known proxy_auth REQUIRED\n"+
			"http_access deny !known\n", users)
	}
	for i, network := range o.Deny {
		fmt.Fprintf(&conf, "acl denied%d dst %s\nhttp_access deny denied%d\n", i, network, i)
	}
	conf.WriteString("http_access allow CONNECT\nhttp_access deny all\n")
	return start(t, port, program, "-N", "-f", write(t, dir, "squid.conf", conf.String()))
}

// Dante starts a SOCKS5 proxy without a password: it takes passwords from the system's users.
func Dante(t *testing.T, o Options) *Proxy {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("dante needs root")
	}
	program, dir, port := find(t, "danted", "dante-server", false), folder(t), portFor(t, o)
	var conf strings.Builder
	fmt.Fprintf(&conf, "logoutput: /dev/null\ninternal: 127.0.0.1 port = %d\nexternal: %s\nclientmethod: none\nsocksmethod: none\n"+
		"user.privileged: root\nuser.unprivileged: nobody\nclient pass { from: 0.0.0.0/0 to: 0.0.0.0/0 }\n", port, Outgoing)
	for _, network := range o.Deny {
		fmt.Fprintf(&conf, "socks block { from: 0.0.0.0/0 to: %s }\n", network)
	}
	conf.WriteString("socks pass { from: 0.0.0.0/0 to: 0.0.0.0/0 }\n")
	return start(t, port, program, "-f", write(t, dir, "danted.conf", conf.String()), "-p", filepath.Join(dir, "danted.pid"))
}

// folder returns one that the proxies can read after they have given up root.
func folder(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "proxytest") //nolint:usetesting // another user reads it, so it cannot be below a private one
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o777))
	return dir
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

func portFor(t *testing.T, o Options) int {
	t.Helper()
	if o.Port != 0 {
		return o.Port
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port
}

func start(t *testing.T, port int, program string, args ...string) *Proxy {
	t.Helper()
	command := exec.Command(program, args...)
	require.NoError(t, command.Start())
	ended := make(chan struct{})
	go func() { _ = command.Wait(); close(ended) }()
	p := &Proxy{Address: fmt.Sprintf("127.0.0.1:%d", port), stop: func() { _ = command.Process.Kill(); <-ended }}
	t.Cleanup(p.stop)
	require.Eventually(t, func() bool {
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.Address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, time.Minute, 20*time.Millisecond)
	return p
}
