package config

import (
	"maps"
	"strings"
)

// environment holds the variables that are set and not empty.
type environment map[string]string

func newEnvironment(environ []string) environment {
	vars := make(environment, len(environ))
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); value != "" {
			vars[name] = value
		}
	}
	return vars
}

// over returns the environment with unset variables taken from another one. A secret set by file counts as set.
func (e environment) over(other map[string]string) environment {
	merged := maps.Clone(e)
	for name, value := range other {
		if e[name] == "" && e[name+fileSuffix] == "" {
			merged[name] = value
		}
	}
	return merged
}

// LookupEnv is os.LookupEnv for this environment.
func (e environment) LookupEnv(name string) (string, bool) {
	value, ok := e[name]
	return value, ok
}

// Environ is os.Environ for this environment.
func (e environment) Environ() []string {
	entries := make([]string, 0, len(e))
	for name, value := range e {
		entries = append(entries, name+"="+value)
	}
	return entries
}
