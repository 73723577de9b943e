package postgres

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"

	"holdfast/event"
)

// classOf maps SQLSTATEs to classes. Message texts never decide: they are translated and change.
func classOf(pg *pgconn.PgError) event.Class {
	if transientStates[pg.Code] || isStalePlan(pg) || IsLostRace(pg) {
		return event.ClassTransient
	}
	if len(pg.Code) != 5 {
		return event.ClassFailed
	}
	switch pg.Code[:2] {
	case "08", "53", "58", "XX": // connection, resources (disk, memory, connections), system (I/O), internal and damaged data
		return event.ClassTransient
	case "22", "23", "54": // data, constraints, limits: this event would fail again
		return event.ClassRejected
	default: // mostly 42: a deployment without its migration, which is not the event's fault, but must be visible
		return event.ClassFailed
	}
}

// transientStates lists transient states of classes that are otherwise not transient.
var transientStates = map[string]bool{
	"25006": true, // read only: a standby, or a disk protected by an operator
	"25P03": true, // idle in transaction: this process was stopped half-way
	"25P04": true, // transaction timeout
	"26000": true, // a prepared statement is missing in this session, or already there: a pooler has switched sessions
	"42P05": true,
	"40001": true,
	"40003": true, // the outcome of the commit is unknown; every transaction may run again
	"40P01": true,
	"55P03": true,
	"57014": true, // statement timeout, or cancelled by us or an operator
	"57P01": true, // terminated by an administrator: restart, failover
	"57P02": true,
	"57P03": true,
	"57P05": true, // idle session timeout
}

// IsLockFailure reports whether another transaction holds a needed lock (lock_timeout, statement_timeout, deadlock).
func IsLockFailure(err error) bool {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return false
	}
	return pg.Code == "55P03" || pg.Code == "57014" || pg.Code == "40P01"
}

// IsOutOfLocks reports whether the server has no memory for the locks of a transaction.
func IsOutOfLocks(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "53200"
}

// IsDamage reports whether PostgreSQL found damaged data: a page that fails its checksum, or an index that contradicts its table.
func IsDamage(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && IsDamageCode(conditionOf(pg.Code))
}

// IsDamageCode reports whether an error's code is one of IsDamage's.
func IsDamageCode(code string) bool { return code == codeDataCorrupted || code == codeIndexCorrupted }

const (
	codeDataCorrupted  = "data_corrupted"
	codeIndexCorrupted = "index_corrupted"
)

// IsLostRace reports whether another transaction inserted an entity after this one had looked for it.
func IsLostRace(pg *pgconn.PgError) bool {
	return pg.Code == "23505" && pg.ConstraintName == "entities_pkey"
}

// isStalePlan reports that a migration changed a table under a prepared statement. The driver has discarded the statement by now.
func isStalePlan(pg *pgconn.PgError) bool {
	return pg.Code == "0A000" && pg.Routine == "RevalidateCachedQuery"
}

// conditionOf returns PostgreSQL's name for a state (Appendix A of its manual), or "sqlstate_" and the state if it isn't listed.
func conditionOf(state string) string {
	if name, ok := conditions[state]; ok {
		return name
	}
	return "sqlstate_" + state
}

var conditions = map[string]string{
	"08000": "connection_exception",
	"08003": "connection_does_not_exist",
	"08006": "connection_failure",
	"08P01": "protocol_violation",
	"22001": "string_data_right_truncation",
	"22003": "numeric_value_out_of_range",
	"22008": "datetime_field_overflow",
	"22021": "character_not_in_repertoire",
	"22P02": "invalid_text_representation",
	"22P05": "untranslatable_character",
	"23502": "not_null_violation",
	"23503": "foreign_key_violation",
	"23505": "unique_violation",
	"23514": "check_violation",
	"25006": "read_only_sql_transaction",
	"25P02": "in_failed_sql_transaction",
	"25P03": "idle_in_transaction_session_timeout",
	"26000": "invalid_sql_statement_name",
	"28000": "invalid_authorization_specification",
	"28P01": "invalid_password",
	"3D000": "invalid_catalog_name",
	"40001": "serialization_failure",
	"40003": "statement_completion_unknown",
	"40P01": "deadlock_detected",
	"42501": "insufficient_privilege",
	"42601": "syntax_error",
	"42703": "undefined_column",
	"42804": "datatype_mismatch",
	"42P01": "undefined_table",
	"42P05": "duplicate_prepared_statement",
	"53100": "disk_full",
	"53200": "out_of_memory",
	"53300": "too_many_connections",
	"54000": "program_limit_exceeded",
	"54001": "statement_too_complex",
	"55P03": "lock_not_available",
	"57014": "query_canceled",
	"57P01": "admin_shutdown",
	"57P02": "crash_shutdown",
	"57P03": "cannot_connect_now",
	"58030": "io_error",
	"XX000": "internal_error",
	"XX001": codeDataCorrupted,
	"XX002": codeIndexCorrupted,
}
