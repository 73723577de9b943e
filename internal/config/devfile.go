package config

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// devFile is the file below its directory in which a running `holdfast dev` records what it started.
const devFile = "env"

const definitionsVariable = "HOLDFAST_PROVIDERS_DIR"

// LoadBesideDev is Load, with unset variables taken from the dev stack of this directory, if one was started, so that tools find
// it without configuration.
func LoadBesideDev() (cfg Config, found bool, err error) {
	vars := newEnvironment(os.Environ())
	cfg, err = load(maps.Clone(vars))
	if err != nil {
		return cfg, false, err
	}
	text, err := os.ReadFile(filepath.Join(cfg.Dev.Dir, devFile))
	if errors.Is(err, fs.ErrNotExist) {
		return cfg, false, nil
	}
	if err != nil {
		return cfg, false, fmt.Errorf("read what the dev stack has started: %w", err)
	}
	started := newEnvironment(strings.Split(string(text), "\n"))
	if dir := started[definitionsVariable]; vars[definitionsVariable] == "" && isMissing(dir) {
		delete(started, definitionsVariable)
		fmt.Fprintf(os.Stderr, "the definitions of `make run` were in %s, which no longer exists: using the built-in ones\n", dir)
	}
	cfg, err = load(vars.over(started))
	return cfg, true, err
}

func isMissing(file string) bool {
	_, err := os.Stat(file)
	return file != "" && errors.Is(err, fs.ErrNotExist)
}

// LoadForDev is Load, with the given values for unset variables, and records those for LoadBesideDev.
func LoadForDev(dir string, given map[string]string) (Config, error) {
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(given)) {
		fmt.Fprintf(&text, "%s=%s\n", name, given[name])
	}
	if err := os.WriteFile(filepath.Join(dir, devFile), []byte(text.String()), 0o600); err != nil {
		return Config{}, fmt.Errorf("write down what the dev stack has started: %w", err)
	}
	return load(newEnvironment(os.Environ()).over(given))
}
