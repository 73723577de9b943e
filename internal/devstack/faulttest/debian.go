package faulttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// WriteDebian writes the files of a Debian 12 with PostgreSQL 15 and netcat to a tar archive. No service starts meanwhile.
func WriteDebian(t *testing.T, archive string) {
	t.Helper()
	system := filepath.Join(t.TempDir(), "debian")
	Run(t, "debootstrap", "--variant=minbase", "--include=ca-certificates", "bookworm", system, "http://deb.debian.org/debian")
	policy := system + "/usr/sbin/policy-rc.d"
	require.NoError(t, os.WriteFile(policy, []byte("#!/bin/sh\nexit 101\n"), 0o755))
	require.NoError(t, os.MkdirAll(system+"/etc/postgresql-common", 0o755))
	settings := system + "/etc/postgresql-common/createcluster.conf"
	require.NoError(t, os.WriteFile(settings, []byte("create_main_cluster = false\n"), 0o644))
	install := exec.Command("chroot", system, "apt-get", "install", "--yes", "--no-install-recommends", "postgresql-15",
		"netcat-openbsd")
	install.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	Must(t, install)
	Run(t, "tar", "-C", system, "--exclude=./var/cache/apt", "--exclude=./var/lib/apt/lists", "-cf", archive, ".")
}
