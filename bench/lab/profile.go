package lab

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Profile is the server configuration from deploy/.
type Profile struct {
	// Postgres has server parameters.
	Postgres map[string]string
	// DynamicConfig is Temporal's dynamic configuration file.
	DynamicConfig string
	// Environ has Temporal's environment, such as GOGC=400.
	Environ []string
	// Shards of Temporal's history; 0 is the default of temporalserver.
	Shards int
	// Product has additional variables of the product.
	Product []string
	// Visibility has statements for Temporal's visibility database, run before any workflow.
	Visibility string
}

// The files of the profile, relative to the repository's root.
const (
	postgresProfile   = "deploy/postgres/performance.conf"
	temporalProfile   = "deploy/temporal/dynamicconfig.yaml"
	environProfile    = "deploy/temporal/performance.env"
	smallProfile      = "deploy/temporal/small.env"
	visibilityProfile = "deploy/temporal/drop-unused-indexes.sql"
)

// ReadProfile reads the profile that deploy/ recommends.
func ReadProfile(root string) (Profile, error) { return readProfile(root, environProfile) }

// ReadSmallProfile reads the one for a machine with one or two cores. Shards and Product match deploy/compose.small.yml.
// PostgreSQL looks for tables to vacuum once a minute, as performance.conf advises.
func ReadSmallProfile(root string) (Profile, error) {
	p, err := readProfile(root, smallProfile)
	delete(p.Postgres, "autovacuum_naptime")
	p.Shards, p.Product = 8, []string{"HOLDFAST_WORKER_POLLERS=2", "GOMAXPROCS=1"}
	return p, err
}

func readProfile(root, environFile string) (p Profile, err error) {
	if p.Postgres, err = readSettings(filepath.Join(root, postgresProfile)); err != nil {
		return Profile{}, err
	}
	environ, err := readSettings(filepath.Join(root, environFile))
	if err != nil {
		return Profile{}, err
	}
	for name, value := range environ {
		p.Environ = append(p.Environ, name+"="+value)
	}
	statements, err := os.ReadFile(filepath.Join(root, visibilityProfile))
	p.Visibility = string(statements)
	p.DynamicConfig = filepath.Join(root, temporalProfile)
	return p, err
}

// honest are settings that no profile may weaken: committed data is on disk.
var honest = map[string]string{"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on"}

// settings returns the profile's settings, with the settings that make commits durable.
func (p Profile) settings() map[string]string {
	all := maps.Clone(p.Postgres)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, honest)
	return all
}

// readSettings parses lines of the form name = value, as in postgresql.conf and in env files.
func readSettings(path string) (map[string]string, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read profile: %w", err)
	}
	settings := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewReader(raw)); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("read profile %s: %q is no setting", path, line)
		}
		settings[strings.TrimSpace(name)] = strings.Trim(strings.TrimSpace(value), "'")
	}
	return settings, nil
}

// CaptureProfiles profiles a process's CPU for d and writes the result, and its allocations since it started, to
// dir/NAME.cpu.pprof and dir/NAME.allocs.pprof. If the process serves no profiles, it does nothing.
func (n *Node) CaptureProfiles(ctx context.Context, dir, name string, length time.Duration) error {
	if n.Debug == "" {
		return nil
	}
	seconds := max(1, int(length.Seconds()))
	return errors.Join(
		n.save(ctx, fmt.Sprintf("/debug/pprof/profile?seconds=%d", seconds), filepath.Join(dir, name+".cpu.pprof")),
		n.save(ctx, "/debug/pprof/allocs", filepath.Join(dir, name+".allocs.pprof")),
	)
}

func (n *Node) save(ctx context.Context, page, path string) error {
	raw, err := n.Get(ctx, n.Debug+page)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return os.WriteFile(path, raw, 0o600)
}
