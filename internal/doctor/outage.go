package doctor

import (
	"context"
	"errors"
	"slices"
	"strings"

	"go.temporal.io/api/serviceerror"

	"holdfast/event"
	"holdfast/event/oversight"
)

// The servers that checks need, by the name of the check that reports an outage.
const (
	database = "database"
	temporal = "Temporal"
)

var adviceOnOutage = map[string]string{
	database: "check that PostgreSQL runs, is not overloaded or locked (pg_stat_activity), and that DATABASE_URL is right",
	temporal: "check that Temporal runs, that its own database answers, and that TEMPORAL_ADDRESS is right",
}

// adviceOnRefusal maps the codes with which a process refuses a connection to a database that answers.
var adviceOnRefusal = map[string]string{
	"unsuitable_setting": "change the setting for the role of DATABASE_URL, and let a pooler open new connections (RECONNECT): " +
		"see docs/pgbouncer.md, \"Settings of the role\"",
	"pooler_refused": "see docs/pgbouncer.md",
}

// check runs a check, unless a server that it needs is down.
func (d *doctor) check(name string, examine func(), needs ...string) {
	for _, server := range needs {
		if skipped, isDown := d.down[server]; isDown {
			d.down[server] = append(skipped, name)
			return
		}
	}
	examine()
}

// failed reports a check's error. If the error means that a server doesn't answer, it is reported as the server's failure.
func (d *doctor) failed(check string, err error, advice string) {
	d.reportError(check, resultFail, err, advice)
}

// warned is failed for an error that doesn't affect other checks.
func (d *doctor) warned(check string, err error, advice string) {
	d.reportError(check, resultWarn, err, advice)
}

func (d *doctor) reportError(check string, v oversight.CheckResult, err error, advice string) {
	switch server := serverOf(err); {
	case server != "":
		d.outage(server, check, err)
	case event.ClassOf(err) == event.ClassTransient:
		d.add(check, v, err.Error(), "try again: another transaction or a heavy load was in the way (pg_stat_activity)")
	default:
		d.add(check, v, err.Error(), advice)
	}
}

// outage reports a server that doesn't answer, once, replacing its earlier finding.
func (d *doctor) outage(server, check string, err error) {
	skipped, wasDown := d.down[server]
	if check != server {
		skipped = append(skipped, check)
	}
	if d.down == nil {
		d.down = map[string][]string{}
	}
	d.down[server] = skipped
	if wasDown {
		return
	}
	d.findings = slices.DeleteFunc(d.findings, func(f oversight.Finding) bool { return f.Check == server })
	if advice, isRefused := adviceOnRefusal[event.CodeOf(err)]; isRefused {
		d.add(server, resultFail, "isn't used: "+err.Error(), advice)
		return
	}
	d.add(server, resultFail, "doesn't answer: "+err.Error(), adviceOnOutage[server])
}

// reportSkipped lists the skipped checks, in one line for each server that is down.
func (d *doctor) reportSkipped() {
	for _, server := range []string{database, temporal} {
		if skipped := d.down[server]; len(skipped) > 0 {
			d.add("not checked", resultSkip, server+": "+strings.Join(skipped, ", "), "")
		}
	}
}

// unreachable are the error codes of an unavailable database. Other transient errors concern one query: a lock, a deadlock.
var unreachable = []string{
	"connection_failed", "connection_lost", "deadline_exceeded", "connection_failure", "admin_shutdown", "crash_shutdown",
	"cannot_connect_now", "too_many_connections", "disk_full", "io_error",
}

// serverOf returns the server that is down according to an error; "" for another error.
func serverOf(err error) string {
	var unavailable *serviceerror.Unavailable
	var late *serviceerror.DeadlineExceeded
	switch {
	case errors.As(err, &unavailable), errors.As(err, &late), event.CodeOf(err) == event.CodeNoTemporal:
		return temporal
	case slices.Contains(unreachable, event.CodeOf(err)), errors.Is(err, context.DeadlineExceeded):
		return database
	default:
		return ""
	}
}
