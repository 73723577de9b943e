package postgres

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"holdfast/event"
	"holdfast/persistence/postgres/session"
)

const commitOnDisk = `SET ` + session.SynchronousCommit + ` = on`

// selectSession has no parameters: a pooler may reassign the session between the description of a statement and its execution.
var selectSession = `
SELECT pg_backend_pid(), ARRAY(SELECT coalesce(current_setting(name, true), '')
                                 FROM unnest('{` + strings.Join(session.Names(), ",") + `}'::text[])
                                      WITH ORDINALITY AS asked (name, n) ORDER BY n)`

// checkSession refuses a new connection to a pooler that isn't expected, and one whose settings change results. Without a pooler,
// a connection has the settings that it asks for. With one, they are those of the role, the database or the server.
func checkSession(ctx context.Context, c *pgx.Conn, mayBePooled bool) error {
	var pid uint32
	var values []string
	row := c.QueryRow(ctx, selectSession, pgx.QueryExecModeExec)
	if err := row.Scan(&pid, &values); err != nil {
		return err
	}
	pooled := pid != c.PgConn().PID()
	if pooled && !mayBePooled {
		return errPooler
	}
	unsuitable := session.Unsuitable(values)
	if unsuitable == nil {
		return nil
	}
	if unsuitable.Name == session.SynchronousCommit && !pooled {
		// There may be another one.
		if _, err := c.Exec(ctx, commitOnDisk, pgx.QueryExecModeExec); err != nil {
			return err
		}
		return checkSession(ctx, c, mayBePooled)
	}
	return settingError(unsuitable)
}

// settingError is transient: no event is at fault, and each can be processed once the setting is corrected.
func settingError(s *session.Setting) *event.Error {
	return &event.Error{
		Class: event.ClassTransient, Code: "unsuitable_setting",
		Text: "the role, the database or the server has an unsuitable " + s.Name + " (" + s.Reason + "): ALTER ROLE … SET " +
			s.Name + " = '" + s.Allowed[0] + "'",
	}
}
