package cli

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"syscall"

	"github.com/spf13/cobra"
	"go.temporal.io/api/serviceerror"

	"holdfast/event"
	"holdfast/internal/config"
)

// NamedBy is what says where something is looked for: a flag, or else a variable. It is "" where none does and no variable names
// a database or a Temporal either: then this is no installation, but the machine of a developer.
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

// Nobody says that nothing answers at a place, and what to do, where that is what an error means. See NamedBy for by.
func Nobody(err error, at, by string) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("nothing answers at %s: %s", at, whatToDo(by))
	}
	return err
}

// whatToDo is for where nothing answers. What somebody has named is not what `make run` starts.
func whatToDo(by string) string {
	if by == "" {
		return "is it running? `make run` starts it on this machine"
	}
	return "is it running? " + by + " says where it is looked for"
}

// withoutDatabase says where the database would be known, where nothing says where it is.
func withoutDatabase(c *cobra.Command, err error) error {
	if NamedBy(c, "", databaseVariable) == "" {
		return fmt.Errorf("%w; beside a `make run` it is known", err)
	}
	return err
}

// outage says where nothing answers, and what to do, where that is what an error means.
func outage(c *cobra.Command, cfg config.Config, err error) error {
	var temporal *serviceerror.Unavailable
	switch {
	case event.CodeOf(err) == "connection_failed":
		return fmt.Errorf("%w: nothing usable answers at %s: %s", err, databaseHost(cfg), whatToDo(NamedBy(c, "", databaseVariable)))
	case errors.As(err, &temporal):
		return fmt.Errorf("%w: Temporal does not answer at %s: %s", err, cfg.Temporal.Address,
			whatToDo(NamedBy(c, "", temporalVariable)))
	}
	return err
}

// databaseHost is where the database is, without what opens it.
func databaseHost(cfg config.Config) string {
	if u, err := url.Parse(cfg.Database.URL.Reveal()); err == nil && u.Host != "" {
		return u.Host
	}
	return databaseVariable
}
