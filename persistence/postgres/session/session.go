// Package session lists the settings of a PostgreSQL session that Holdfast's SQL relies on. Each can be changed for a role, a
// database or the server, and then changes results without an error.
//
// It must not depend on a statement or a table: stores and migrations both use it.
package session

import (
	"maps"
	"slices"
	"strings"
)

// A Setting is one that statements rely on.
type Setting struct {
	Name string
	// Value is set at connect; empty if only a superuser may set it.
	Value string
	// Allowed are the values that don't change results, the recommended one first. Empty if no result depends on the setting.
	Allowed []string
	Reason  string
}

// Settings are the settings to rely on. Two are missing on purpose. Operators put the tables into a schema of their choice with
// search_path. And they, or a provider of managed databases, protect a full disk with default_transaction_read_only.
var Settings = []Setting{
	{"client_min_messages", "warning", messages, "a warning is the only sign that a commit didn't wait for the synchronous standby"},
	{SynchronousCommit, "", []string{"on", "remote_write", "remote_apply"}, "a commit that isn't on disk is lost in a crash"},
	{"default_transaction_isolation", "read committed", []string{"read committed"},
		"a statement sees what was committed while it waited for a lock"},
	{"session_replication_role", "", []string{"origin", "local"}, "triggers write the change feed's entries of dead letters"},
	{"client_encoding", "UTF8", []string{"UTF8"}, "texts are sent and read as UTF-8"},
	{"array_nulls", "on", on, "arrays are sent with NULL as a value"},
	{"standard_conforming_strings", "on", on, "statements contain a backslash in plain strings"},
	{"transform_null_equals", "off", nil, "a comparison with NULL is NULL"},
	{"DateStyle", "ISO, MDY", nil, "times as text have one form"},
	{"IntervalStyle", "postgres", nil, "durations as text have one form"},
	{"TimeZone", "UTC", nil, "days begin at the same time for all processes"},
	{"bytea_output", "hex", nil, "bytes as text have one form"},
	{"extra_float_digits", "1", nil, "numbers as text keep all digits"},
	{"quote_all_identifiers", "off", nil, "names as text have one form"},
	{"enable_indexscan", "on", nil, plans},
	{"enable_indexonlyscan", "on", nil, plans},
	{"enable_bitmapscan", "on", nil, plans},
	{"enable_nestloop", "on", nil, plans},
	{"enable_sort", "on", nil, plans},
}

// Plans are the settings with which most statements are planned: see postgres.SettingsOfPlans.
var Plans = []Setting{
	{"jit", "off", nil, plans},
	{"plan_cache_mode", "force_generic_plan", nil, plans},
	{"enable_seqscan", "off", nil, plans},
	{"enable_hashjoin", "off", nil, plans},
	{"enable_mergejoin", "off", nil, plans},
}

// SynchronousCommit is raised to "on" if it is lower; a higher value stays.
const SynchronousCommit = "synchronous_commit"

// ModeNamed in a URL allows prepared statements behind a pooler: in session mode, for example. It may refuse settings at connect.
const ModeNamed = "default_query_exec_mode=cache_statement"

const plans = "statements are written for indexes, so that they stay fast in tables of any size"

var (
	on       = []string{"on"}
	messages = []string{"warning", "notice", "log", "debug1", "debug2", "debug3", "debug4", "debug5"}
)

// Configure adds the settings to the parameters that a client sends when it connects.
func Configure(params map[string]string) { configure(params, Settings) }

// ConfigurePlans is Configure for Plans.
func ConfigurePlans(params map[string]string) { configure(params, Plans) }

func configure(params map[string]string, settings []Setting) {
	for _, s := range settings {
		if s.Value == "" {
			continue
		}
		// PostgreSQL ignores case in names. A URL may have the name in another one.
		maps.DeleteFunc(params, func(name, _ string) bool { return strings.EqualFold(name, s.Name) })
		params[s.Name] = s.Value
	}
}

// Names returns the names of the settings on which results depend.
func Names() (names []string) {
	for _, s := range checked() {
		names = append(names, s.Name)
	}
	return names
}

// Unsuitable returns the first setting of Names whose value changes results, or nil. A missing value is suitable.
func Unsuitable(values []string) *Setting {
	for i, s := range checked() {
		if i < len(values) && values[i] != "" && !slices.Contains(s.Allowed, values[i]) {
			return &s
		}
	}
	return nil
}

func checked() (all []Setting) {
	for _, s := range Settings {
		if len(s.Allowed) > 0 {
			all = append(all, s)
		}
	}
	return all
}
