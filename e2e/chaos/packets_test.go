package chaos

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// packets drops packets on loopback with a table of nftables. The kernel removes the table when nft ends, so with the tests.
type packets struct {
	t   testing.TB
	nft io.Writer
	out *bufio.Scanner
}

const packetTable = "holdfast_chaos"

func filterPackets(t testing.TB) *packets {
	t.Helper()
	if _, err := exec.LookPath("nft"); err != nil || os.Geteuid() != 0 {
		t.Skip("only root can drop packets, with nft (apt-get install nftables)")
	}
	nft := exec.Command("nft", "--interactive")
	dieWithUs(nft)
	in, err := nft.StdinPipe()
	require.NoError(t, err)
	out, err := nft.StdoutPipe()
	require.NoError(t, err)
	nft.Stderr = nft.Stdout
	require.NoError(t, nft.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = nft.Wait()
	})
	p := &packets{t: t, nft: in, out: bufio.NewScanner(out)}
	// Dropped on input: for the sender they are sent.
	p.command("add table ip " + packetTable + " { flags owner; }")
	p.command("add chain ip " + packetTable + " in { type filter hook input priority 0; }")
	return p
}

// command runs a command of nft and returns the table after it.
func (p *packets) command(text string) (lines []string) {
	p.t.Helper()
	_, err := fmt.Fprintf(p.nft, "%s\nlist table ip %s\n", text, packetTable)
	require.NoError(p.t, err)
	for p.out.Scan() {
		line := p.out.Text()
		require.NotContains(p.t, line, "Error:", "nft: %s", text)
		lines = append(lines, line)
		if line == "}" {
			return lines
		}
	}
	require.Fail(p.t, "nft ended", "%s: %v", text, p.out.Err())
	return nil
}

// obey replaces the rules. Their matches are in nft's language.
func (p *packets) obey(rules ...string) {
	p.t.Helper()
	p.command("flush chain ip " + packetTable + " in")
	for _, rule := range rules {
		p.command("add rule ip " + packetTable + " in " + rule)
	}
}

// passAll ends the fault, and requires that it dropped packets.
func (p *packets) passAll() (dropped int) {
	p.t.Helper()
	for _, line := range p.command("") {
		if _, counter, found := strings.Cut(line, "counter packets "); found && strings.HasSuffix(line, "drop") {
			var n int
			_, err := fmt.Sscan(counter, &n)
			require.NoError(p.t, err)
			dropped += n
		}
	}
	p.obey()
	require.Positive(p.t, dropped, "packets dropped")
	return dropped
}

// pair is two programs with a connection between them, by the server's port. For Toxiproxy's links that is the proxy's.
type pair struct{ name, port string }

func (w *world) pairs() (pairs []pair) {
	for name, address := range map[string]string{
		"ingress to Temporal": w.ingressTemporal.address(), "ingress to PostgreSQL": w.ingressDatabase.address(),
		"worker to Temporal": w.workerTemporal.address(), "worker to PostgreSQL": w.workerDatabase.address(),
		"Temporal to PostgreSQL": w.store.address(), "worker to endpoint": w.receiver.address,
	} {
		_, port, err := net.SplitHostPort(address)
		require.NoError(w.t, err)
		pairs = append(pairs, pair{name, port})
	}
	slices.SortFunc(pairs, func(a, b pair) int { return strings.Compare(a.name, b.name) })
	return pairs
}

// established returns the client's ports of the pair's connections.
func (p pair) established(t testing.TB) (ports []string) {
	t.Helper()
	out, err := exec.Command("ss", "--tcp", "--numeric", "--no-header", "state", "established", "dport", "=", ":"+p.port).Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		fields := strings.Fields(line) // received, sent, local, peer
		ports = append(ports, fields[2][strings.LastIndex(fields[2], ":")+1:])
	}
	return ports
}
