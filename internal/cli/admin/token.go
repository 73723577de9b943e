package admin

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/payloadcodec"
	"holdfast/internal/word"
	"holdfast/operator/access"
)

// TokenCommand returns `holdfast token`.
func TokenCommand() *cobra.Command {
	return cli.Group("token", "Create tokens for the operator API",
		"  holdfast token new ada operator",
		tokenNewCommand())
}

func tokenNewCommand() *cobra.Command {
	command := &cobra.Command{
		Use:     "new NAME ROLE",
		Short:   "Create a token, which is shown once and not stored",
		Long:    "Create a token, which is shown once and not stored. ROLE is " + word.Alternatives(access.Roles()) + ".",
		Example: "  holdfast token new ada operator\n  holdfast token new grafana viewer --json | jq -r .token",
		RunE: func(c *cobra.Command, args []string) error {
			role, err := word.Choose(args[1], access.Roles())
			if err != nil {
				return cli.UsageError(c, err)
			}
			text, token, err := access.NewToken(args[0], role)
			if err != nil {
				return cli.UsageError(c, err)
			}
			made := map[string]string{"token": text, "entry": fmt.Sprint(token)}
			return cli.Print(c, made, func(w io.Writer) error {
				_, err = fmt.Fprintf(w, "token (give it to its user; it isn't stored):\n  %s\n\n"+
					"entry (add it to HOLDFAST_OPERATOR_TOKENS, or to the file that HOLDFAST_OPERATOR_TOKENS_FILE names):\n  %s\n",
					text, token)
				return err
			})
		},
	}
	command.ValidArgsFunction = func(_ *cobra.Command, before []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(before) != 1 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return cli.Words(access.Roles()), cobra.ShellCompDirectiveNoFileComp
	}
	cli.AddJSONFlag(command)
	return command
}

// PayloadKeyCommand returns `holdfast payload-key`.
func PayloadKeyCommand() *cobra.Command {
	return cli.Group("payload-key", "Create keys that encrypt payloads in Temporal",
		"  holdfast payload-key new 2026-11-22",
		payloadKeyNewCommand())
}

func payloadKeyNewCommand() *cobra.Command {
	return cli.WithJSON(&cobra.Command{
		Use:     "new KEY-ID",
		Short:   "Create a payload key; its ID isn't secret, so use a date",
		Example: "  holdfast payload-key new 2026-11-22",
		RunE: func(c *cobra.Command, args []string) error {
			key, err := payloadcodec.NewKey(args[0])
			if err != nil {
				return cli.UsageError(c, err)
			}
			return cli.Print(c, map[string]string{"entry": key.Entry()}, func(w io.Writer) error {
				_, err = fmt.Fprintf(w, "entry (put it into HOLDFAST_PAYLOAD_KEYS, or into the file that "+
					"HOLDFAST_PAYLOAD_KEYS_FILE names, of every process; keep a copy: without it, histories can't be read):\n  %s\n",
					key.Entry())
				return err
			})
		},
	})
}
