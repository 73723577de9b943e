package cli

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/config"
)

// NamedBy returns the setting that an address comes from: a flag, or else a variable. It returns "" if neither is set and no
// variable names a database or Temporal: then this is a developer's machine, not an installation.
func NamedBy(c *cobra.Command, flag, variable string) string {
	if c.Flags().Changed(flag) {
		return "--" + flag
	}
	for _, name := range []string{variable, databaseVariable, databaseVariable + "_FILE", temporalVariable, "TEMPORAL_CONFIG_FILE"} {
		if os.Getenv(name) != "" {
			return variable
		}
	}
	return ""
}

const (
	databaseVariable = "DATABASE_URL"
	temporalVariable = "TEMPORAL_ADDRESS"
)

// Unreachable turns an error that means "no server at this address" into one that says what to do. For by, see NamedBy.
func Unreachable(err error, at, by string) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("no server is listening at %s: %s", at, outageAdvice(by))
	}
	return err
}

// outageAdvice returns the advice if no server answers. `make run` doesn't help if a setting names the address.
func outageAdvice(by string) string {
	if by == "" {
		return "is it running? `make run` starts it on this machine"
	}
	return "is it running? The address comes from " + by
}

// withoutDatabase adds how to name the database, if no setting does.
func withoutDatabase(c *cobra.Command, err error) error {
	if NamedBy(c, "", databaseVariable) == "" {
		return fmt.Errorf("%w (`make run` sets it for commands on the same machine)", err)
	}
	return err
}

// outage says how to reach a store that didn't answer.
func outage(c *cobra.Command, cfg config.Config, err error) error {
	switch {
	case strings.Contains(err.Error(), "connection_failed"):
		return fmt.Errorf("%w: can't connect to %s: %s", err, databaseHost(cfg), outageAdvice(NamedBy(c, "", databaseVariable)))
	case strings.Contains(err.Error(), event.CodeNoTemporal):
		return fmt.Errorf("%w: Temporal doesn't respond at %s: %s", err, cfg.Temporal.Address,
			outageAdvice(NamedBy(c, "", temporalVariable)))
	}
	return err
}

// databaseHost returns the database's address without credentials.
func databaseHost(cfg config.Config) string {
	if u, err := url.Parse(cfg.Database.URL.Reveal()); err == nil && u.Host != "" {
		return u.Host
	}
	return databaseVariable
}
