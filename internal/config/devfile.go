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
	cfg, err = load(vars.over(newEnvironment(strings.Split(string(text), "\n"))))
	return cfg, true, err
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
