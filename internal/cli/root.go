package cli

import (
	"cmp"
	"strings"

	"github.com/spf13/cobra"
)

// The groups of `holdfast help`.
const (
	GroupRun      = "run"
	GroupOperate  = "operate"
	GroupAdvanced = "advanced"
)

// Group returns a command that only has subcommands.
func Group(use, short, example string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{Use: use, Short: short, Example: example}
	group.AddCommand(commands...)
	return group
}

// addExamples adds examples to cobra's commands for shell completion scripts.
func addExamples(c *cobra.Command) {
	program := c.Root().Name()
	c.Example = "  source <(" + program + " completion bash)"
	for _, shell := range c.Commands() {
		shell.Example = "  " + program + " completion " + shell.Name() + " > " + program + "." + shell.Name()
	}
}

// Advanced lists a command apart from those that most users need.
func Advanced(c *cobra.Command) *cobra.Command {
	c.GroupID = GroupAdvanced
	return c
}

// NewRoot returns the program with these commands. All of them refuse unknown arguments.
func NewRoot(commands ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:   "holdfast",
		Short: "Receive webhooks and never lose one",
		Example: "  holdfast dev                  # everything, on this machine\n" +
			"  holdfast send stripe          # a signed event, as the provider would send it\n" +
			"  holdfast event list           # received events\n" +
			"  holdfast dlq causes           # failed events, by cause",
	}
	root.AddGroup(
		&cobra.Group{ID: GroupRun, Title: "Run it:"},
		&cobra.Group{ID: GroupOperate, Title: "Operate it:"},
		&cobra.Group{ID: GroupAdvanced, Title: "Advanced:"},
	)
	for _, c := range commands {
		c.GroupID = cmp.Or(c.GroupID, GroupOperate)
	}
	root.AddCommand(commands...)
	return Program(root)
}

// Program gives a program the form of all of them: help, completion, and usage errors for unknown arguments.
func Program(root *cobra.Command) *cobra.Command {
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetHelpCommand(helpCommand(root.Name()))
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			addExamples(c)
		}
	}
	narrow := strings.NewReplacer(".FlagUsages ", ".FlagUsagesWrapped 80 ", "for more information about a command", "for more")
	root.SetUsageTemplate(narrow.Replace(root.UsageTemplate()))
	strict(root)
	complete(root)
	return root
}
