package main

import "github.com/spf13/cobra"

// The groups of `holdfast help`.
const (
	groupRun     = "run"
	groupOperate = "operate"
)

// newRoot is the program with these commands. All of them refuse what they do not know.
func newRoot(commands ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:           "holdfast",
		Short:         "Receive webhooks and never lose one",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Run it:"},
		&cobra.Group{ID: groupOperate, Title: "Operate it:"},
	)
	root.AddCommand(commands...)
	root.SetHelpCommand(helpCommand())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	strict(root)
	return root
}
