package operate

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/event"
	"holdfast/internal/cli"
	"holdfast/operator"
)

// TokenCommand is `holdfast token`.
func TokenCommand() *cobra.Command {
	return cli.Group("token", "Make tokens for the operator API",
		tokenNewCommand())
}

func tokenNewCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "new NAME ROLE",
		Short: "Make a token of the role viewer, operator or admin; it is shown once and kept nowhere",
		Args:  cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			role, err := event.Choose(args[1], operator.Roles())
			if err != nil {
				return cli.Misuse(c, err)
			}
			text, token, err := operator.NewToken(args[0], role)
			if err != nil {
				return cli.Misuse(c, err)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "token (give it to its holder; it is kept nowhere):\n  %s\n\n"+
				"entry (add it to HOLDFAST_OPERATOR_TOKENS, or to the file that HOLDFAST_OPERATOR_TOKENS_FILE names):\n  %s\n",
				text, token)
			return err
		},
	}
}
