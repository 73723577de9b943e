package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"holdfast/internal/word"
)

// The exit codes other than 0.
const (
	exitFailed = 1
	// exitUsage is for an invalid command line: nothing ran.
	exitUsage = 2
)

// ExitCode returns 2 for a usage error, and 1 for every other error.
func ExitCode(err error) int {
	var wrong *usageError
	if errors.As(err, &wrong) {
		return exitUsage
	}
	return exitFailed
}

type usageError struct {
	command string
	err     error
}

// UsageError wraps err as a usage error.
func UsageError(c *cobra.Command, err error) error { return &usageError{c.CommandPath(), err} }

// Error ends with a pointer to the help.
func (e *usageError) Error() string {
	return fmt.Sprintf("%s (see `%s --help`)", e.err, e.command)
}

func (e *usageError) Unwrap() error { return e.err }

// strict makes every command below c refuse unknown arguments. By default cobra prints a group's help for any argument, and
// exits with 0.
func strict(c *cobra.Command) {
	c.Long = wrap(c.Long)
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return UsageError(c, flagError(c, err)) })
	if !c.Runnable() {
		c.DisableFlagsInUseLine = true
		c.Args, c.RunE = cobra.ArbitraryArgs, helpOrRefuse
	}
	args := c.Args
	if args == nil {
		args = cobra.ExactArgs(argumentsIn(c.Use))
	}
	c.Args = func(c *cobra.Command, given []string) error {
		if err := args(c, given); err != nil {
			return UsageError(c, miscounted(c, given, err))
		}
		if err := c.ValidateRequiredFlags(); err != nil {
			return UsageError(c, err)
		}
		return nil
	}
	for _, below := range c.Commands() {
		strict(below)
	}
}

// argumentsIn counts the arguments in a usage line; flags end them.
func argumentsIn(use string) int {
	words := strings.Fields(use)[1:]
	if flag := slices.IndexFunc(words, func(word string) bool { return strings.HasPrefix(word, "-") }); flag >= 0 {
		return flag
	}
	return len(words)
}

// wrap wraps paragraphs at 80 characters. One with indented lines stays unchanged.
func wrap(text string) string {
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if strings.HasPrefix(p, " ") || strings.HasPrefix(p, "\t") || strings.Contains(p, "\n ") || strings.Contains(p, "\n\t") {
			continue
		}
		var lines []string
		for word := range strings.FieldsSeq(p) {
			last := len(lines) - 1
			if last < 0 || utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) > 80 {
				lines = append(lines, word)
				continue
			}
			lines[last] += " " + word
		}
		paragraphs[i] = strings.Join(lines, "\n")
	}
	return strings.Join(paragraphs, "\n\n")
}

// miscounted lists the arguments that a command takes, in place of cobra's count.
func miscounted(c *cobra.Command, given []string, err error) error {
	counted := strings.HasPrefix(err.Error(), "accepts ") || strings.HasPrefix(err.Error(), "requires ") ||
		strings.HasPrefix(err.Error(), "unknown command ")
	if !counted || c.HasSubCommands() {
		return err
	}
	_, wanted, _ := strings.Cut(c.Use, " ")
	return fmt.Errorf("expected %s, got %s", cmp.Or(wanted, "no argument"), cmp.Or(quoted(given), "no argument"))
}

func quoted(words []string) string {
	var all []string
	for _, word := range words {
		all = append(all, strconv.Quote(word))
	}
	return strings.Join(all, " ")
}

func helpOrRefuse(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return c.Help()
	}
	return unknownCommand(c, args[0])
}

func unknownCommand(c *cobra.Command, typed string) error {
	var names []string
	for _, below := range c.Commands() {
		if below.IsAvailableCommand() {
			names = append(names, below.Name())
		}
	}
	err := fmt.Errorf("unknown command %q for %q", typed, c.CommandPath())
	if near := word.Nearest(typed, names); near != "" {
		err = fmt.Errorf("%w: did you mean %s?", err, near)
	}
	return UsageError(c, err)
}

// flagError names the flag and the value as typed, and the flag that was probably meant.
func flagError(c *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if errors.As(err, &invalid) {
		return fmt.Errorf("invalid --%s %q: %w", invalid.GetFlag().Name, invalid.GetValue(), invalid.Unwrap())
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := word.Nearest(unknown.GetSpecifiedName(), names); near != "" {
		return fmt.Errorf("%w: did you mean --%s?", err, near)
	}
	return err
}

// helpCommand is cobra's own, except that an unknown topic is an error.
func helpCommand(program string) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Help about any command",
		Example: "  " + program + " help completion bash",
		Args:    cobra.ArbitraryArgs,
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
