package e2e

import (
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// silent returns the address of a server that accepts connections and never answers.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l.Addr().String()
}

// about returns the findings about an outage: failed checks, and those skipped because of it.
func (f findings) about(server string) (failed, skipped []string) {
	for _, one := range f.Findings {
		text := fmt.Sprintf("%s: %s → %s", one.Check, one.Detail, one.Advice)
		switch {
		case one.Result == "skip" && strings.HasPrefix(one.Detail, server):
			skipped = append(skipped, text)
		case one.Result == "fail" && (one.Check == server || strings.Contains(text, "deadline") || strings.Contains(text, "migrate")):
			failed = append(failed, text)
		}
	}
	return failed, skipped
}

// The doctor reports an outage once, with what to do, and names the skipped checks:
//   - a PostgreSQL that never answers, or stops answering half-way, without advice to migrate
//   - a Temporal that never answers
func TestTheDoctorNamesAnOutageOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		server, setting string
		isLocked        bool
		skipped         []string
	}{
		"PostgreSQL": {"database", "DATABASE_URL=postgres://nobody@" + silent(t) + "/none", false, []string{"migrations", "open runs", "agreement"}},
		"half-way":   {"database", "", true, []string{"dead letters", "archive", "agreement"}},
		"Temporal":   {"Temporal", "TEMPORAL_ADDRESS=" + silent(t), false, []string{"queues", "open runs", "agreement"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newInstallation(t)
			if c.isLocked {
				conn, err := pgx.Connect(t.Context(), i.database)
				require.NoError(t, err)
				defer conn.Close(t.Context())
				_, err = conn.Exec(t.Context(), "BEGIN; LOCK TABLE inbox")
				require.NoError(t, err)
			}
			i.env = append(i.env, c.setting)
			f, err := i.doctor(t)
			require.Error(t, err)
			failed, skipped := f.about(c.server)
			require.Len(t, failed, 1, "%+v", f)
			require.Contains(t, failed[0], c.server+": doesn't answer")
			require.NotContains(t, failed[0], "migrate")
			require.Len(t, skipped, 1, "%+v", f)
			for _, check := range c.skipped {
				require.Contains(t, skipped[0], check)
			}
		})
	}
}

// A database that is readable but not writable fails the check: accepted events couldn't be stored.
func TestTheDoctorTriesToWrite(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.exec(t, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`)
	f, err := i.doctor(t)
	require.Error(t, err)
	require.Equal(t, "fail", f.of("database"), "%+v", f)
	failed, skipped := f.about("database")
	require.Len(t, failed, 1)
	require.Contains(t, failed[0], "can't be written")
	require.Empty(t, skipped)
}

// A setting that changes results is named, with the statement that corrects it.
func TestTheDoctorNamesASetting(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.exec(t, `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET session_replication_role = replica', current_database()); END $$`)
	f, err := i.doctor(t)
	require.Error(t, err)
	failed, _ := f.about("database")
	require.Len(t, failed, 1)
	require.Contains(t, failed[0], "ALTER ROLE … SET session_replication_role = 'origin'")
	require.NotContains(t, failed[0], "doesn't answer")
}
