package cli

import (
	"github.com/spf13/cobra"
)

// The groups of `holdfast help`.
const (
	GroupRun     = "run"
	GroupOperate = "operate"
)

// Group is a command that only has others below it.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	group := &cobra.Command{Use: use, Short: short, GroupID: GroupOperate}
	group.AddCommand(commands...)
	return group
}

// NewRoot is the program with these commands. All of them refuse what they do not know.
func NewRoot(commands ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:           "holdfast",
		Short:         "Receive webhooks and never lose one",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddGroup(
		&cobra.Group{ID: GroupRun, Title: "Run it:"},
		&cobra.Group{ID: GroupOperate, Title: "Operate it:"},
	)
	root.AddCommand(commands...)
	root.SetHelpCommand(helpCommand())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	strict(root)
	return root
}
