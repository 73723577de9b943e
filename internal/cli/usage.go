package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast/event"
)

// The exit codes beside 0.
const (
	exitFailed = 1
	// exitUsage: the command line cannot be meant, and nothing was tried.
	exitUsage = 2
)

// ExitCode is 2 for a command line that cannot be meant, and 1 for every other error.
func ExitCode(err error) int {
	var wrong *usageError
	if errors.As(err, &wrong) {
		return exitUsage
	}
	return exitFailed
}

// usageError is a mistake in a command line.
type usageError struct {
	command string
	err     error
}

// Misuse makes an error one of usage.
func Misuse(c *cobra.Command, err error) error { return &usageError{c.CommandPath(), err} }

// Error ends with where to look.
func (e *usageError) Error() string {
	return fmt.Sprintf("%s (see `%s --help`)", e.err, e.command)
}

// Unwrap gives the mistake.
func (e *usageError) Unwrap() error { return e.err }

// strict makes every command below c refuse what it does not know. By itself cobra prints the help of a group of commands for
// any word behind it, and calls that a success.
func strict(c *cobra.Command) {
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return Misuse(c, nearFlag(c, err)) })
	if !c.Runnable() {
		c.DisableFlagsInUseLine = true
		c.Args, c.RunE = cobra.ArbitraryArgs, helpOrRefuse
	}
	args := c.Args
	c.Args = func(c *cobra.Command, given []string) error {
		if args != nil {
			if err := args(c, given); err != nil {
				return Misuse(c, err)
			}
		}
		if err := c.ValidateRequiredFlags(); err != nil {
			return Misuse(c, err)
		}
		return nil
	}
	for _, below := range c.Commands() {
		strict(below)
	}
}

func helpOrRefuse(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	return unknownCommand(c, args[0])
}

func unknownCommand(c *cobra.Command, word string) error {
	var names []string
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			names = append(names, below.Name())
		}
	}
	err := fmt.Errorf("unknown command %q for %q", word, c.CommandPath())
	if near := event.Nearest(word, names); near != "" {
		err = fmt.Errorf("%w: did you mean %s?", err, near)
	}
	return Misuse(c, err)
}

func nearFlag(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := event.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return fmt.Errorf("%w: did you mean --%s?", err, near)
	}
	return err
}

// helpCommand is cobra's own, but for that a topic that does not exist is a mistake.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		Args:  cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return unknownCommand(about, rest[0])
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}
