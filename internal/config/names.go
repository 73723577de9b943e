package config

import (
	"maps"
	"slices"
	"strings"

	"holdfast/internal/word"
)

const (
	prefix = "HOLDFAST_"
	// secretPrefix is reserved for providers' secrets, whose names only their definitions declare.
	secretPrefix = prefix + "SECRET_"
)

// checkNames reports unknown variables with our prefix: a typo would otherwise be ignored silently.
func (m *problems) checkNames(vars environment, fields []field) {
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

// reservedPrefixes begin the variables that configure Holdfast and the libraries it connects with: Temporal, OpenTelemetry,
// PostgreSQL, and S3 for the archive.
var reservedPrefixes = []string{prefix, "TEMPORAL_", "OTEL_", "PGPASS", "AWS_"}

// IsReserved reports whether a variable configures Holdfast itself. No destination may take its secrets from one.
func IsReserved(name string) bool {
	name = strings.TrimSuffix(name, fileSuffix)
	isDeclared := slices.ContainsFunc(declaredFields(), func(f field) bool { return f.name == name })
	isOurs := func(p string) bool { return strings.HasPrefix(name, p) }
	return isDeclared || !strings.HasPrefix(name, secretPrefix) && slices.ContainsFunc(reservedPrefixes, isOurs)
}

// suggestion returns the nearest known variable, if one is near. Not all of them have the prefix.
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
