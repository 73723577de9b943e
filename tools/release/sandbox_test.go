package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// probe tries what an attacker in the process would, and prints a line per attempt: "name yes" or "name no". Each attempt has a
// process of its own, because a forbidden system call kills. The numbers are system calls of amd64.
const probe = `
sub try {
	my ($name, $attempt) = @_;
	my $child = fork;
	exit($attempt->() ? 0 : 1) unless $child;
	waitpid($child, 0);
	print "$name ", ($? == 0 ? "yes" : "no"), "\n";
}
for my $path ("/etc/probe", "/usr/bin/probe", "/var/lib/probe", "/root/probe") {
	try("write to $path", sub { open(my $f, ">>", $path) });
}
for my $path ("/home", "/root") {
	try("list $path", sub { opendir(my $d, $path) or return 0; return scalar grep { !/^\.+$/ } readdir($d) });
}
try("see the processes of others", sub { -e "/proc/1/status" });
try("open a netlink socket", sub { syscall(41, 16, 3, 0) >= 0 });
try("open a packet socket", sub { syscall(41, 17, 3, 0) >= 0 });
try("map memory to write and execute", sub { syscall(9, 0, 4096, 7, 0x22, -1, 0) != -1 });
try("create a user namespace", sub { syscall(272, 0x10000000) == 0 });
try("change the personality", sub { syscall(135, 0x0008) != -1 });
try("mount a file system", sub { my ($type, $to) = ("tmpfs", "/mnt"); syscall(165, $type, $to, $type, 0, 0) == 0 });
try("change the host name", sub { my $name = "vm"; syscall(170, $name, 2) == 0 });
try("make a setuid file", sub { open(my $f, ">", "/tmp/setuid") && chmod(04755, "/tmp/setuid") });
try("write to its own /tmp", sub { open(my $f, ">", "/tmp/probe") });
try("open an internet socket", sub { syscall(41, 2, 1, 0) >= 0 });
`

// checkSandbox reads what the kernel says of the running process, and runs the probe twice: with the unit's settings, and
// without any.
func (m *machine) checkSandbox(t *testing.T) {
	t.Helper()
	status := m.run(t, "cat /proc/$(systemctl show -P MainPID "+serving+")/status")
	for _, line := range []string{
		"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000", "CapBnd:\t0000000000000000",
		"CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2", "Umask:\t0077",
	} {
		require.Contains(t, status, line+"\n")
	}
	require.NotContains(t, status, "\nUid:\t0\t")
	limits := m.run(t, "cat /proc/$(systemctl show -P MainPID "+serving+")/limits")
	require.Regexp(t, `Max core file size +0 +0 `, limits)
	mounts := m.run(t, "cat /proc/$(systemctl show -P MainPID "+serving+")/mounts")
	require.Regexp(t, `(?m)^\S+ / \S+ ro[, ]`, mounts, "the root is read-only")

	m.write(t, "/usr/local/bin/probe", []byte("#!/usr/bin/perl\n"+probe), 0o755)
	m.run(t, "mkdir -p /home/somebody /etc/systemd/system/holdfast@probe.service.d; touch /root/secret")
	m.write(t, "/etc/systemd/system/holdfast@probe.service.d/probe.conf",
		[]byte("[Service]\nType=oneshot\nRestart=no\nExecStart=\nExecStart=/usr/local/bin/probe\n"), 0o644)
	m.run(t, "systemctl daemon-reload; systemctl start holdfast@probe; journalctl --sync")
	sandboxed := answers(m.run(t, "journalctl -u holdfast@probe -o cat"))
	free := answers(m.run(t, "systemd-run --quiet --pipe --wait --collect /usr/local/bin/probe"))
	m.run(t, "rm -r /etc/systemd/system/holdfast@probe.service.d "+
		"/usr/local/bin/probe /etc/probe /usr/bin/probe /var/lib/probe /root/probe")

	require.Len(t, free, 17)
	require.Len(t, sandboxed, 17)
	for _, attempt := range slices.Sorted(maps.Keys(free)) {
		allowed := attempt == "write to its own /tmp" || attempt == "open an internet socket"
		require.True(t, free[attempt], "without the unit's settings: %s", attempt)
		require.Equal(t, allowed, sandboxed[attempt], "with the unit's settings: %s", attempt)
		t.Logf("%-35s without the unit's settings: %v, with: %v", attempt, free[attempt], sandboxed[attempt])
	}
}

func answers(out string) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(out) {
		if name, ok := strings.CutSuffix(line, " yes\n"); ok {
			all[name] = true
		} else if name, ok := strings.CutSuffix(line, " no\n"); ok {
			all[name] = false
		}
	}
	return all
}
