package config

import (
	"maps"
	"slices"
	"strings"

	"holdfast/internal/word"
)

const (
	prefix = "HOLDFAST_"
	// secretPrefix is left to the secrets of providers, whose names only their definitions know.
	secretPrefix = prefix + "SECRET_"
)

// checkNames reports variables that begin like ours and are none: a typo would otherwise be ignored in silence.
func (m *mistakes) checkNames(vars environment, fields []field) {
	known := make([]string, 0, len(fields)+1)
	for _, f := range fields {
		known = append(known, f.name)
		if f.secret {
			known = append(known, f.name+fileSuffix)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		ours := strings.HasPrefix(name, prefix) && !strings.HasPrefix(name, secretPrefix)
		if ours && !slices.Contains(known, name) {
			m.add(name, "is not a variable of Holdfast"+suggestion(name, known), "")
		}
	}
}

// reservedPrefixes are those of variables that configure Holdfast and the libraries it connects with: Temporal, OpenTelemetry,
// PostgreSQL, and S3 for the archive.
var reservedPrefixes = []string{prefix, "TEMPORAL_", "OTEL_", "PGPASS", "AWS_"}

// IsReserved reports whether a variable configures Holdfast itself. No destination may take its secrets from one.
func IsReserved(name string) bool {
	name = strings.TrimSuffix(name, fileSuffix)
	isDeclared := slices.ContainsFunc(declaredFields(), func(f field) bool { return f.name == name })
	isOurs := func(p string) bool { return strings.HasPrefix(name, p) }
	return isDeclared || !strings.HasPrefix(name, secretPrefix) && slices.ContainsFunc(reservedPrefixes, isOurs)
}

// suggestion names the nearest known variable, if there is one that could have been meant. Not all of them have the prefix.
func suggestion(name string, known []string) string {
	const tooFar = 8
	best, least := "", tooFar
	for _, candidate := range known {
		if d := word.Distance(strings.TrimPrefix(name, prefix), strings.TrimPrefix(candidate, prefix)); d < least {
			best, least = candidate, d
		}
	}
	if best == "" {
		return "; docs/configuration.md lists all of them"
	}
	return "; did you mean " + best + "?"
}
