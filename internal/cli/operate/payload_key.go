package operate

import (
	"fmt"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/payloadcodec"
)

// PayloadKeyCommand is `holdfast payload-key`.
func PayloadKeyCommand() *cobra.Command {
	return cli.Group("payload-key", "Make keys that encrypt what Temporal keeps",
		payloadKeyNewCommand())
}

func payloadKeyNewCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "new ID",
		Short: "Make a payload key; its ID stands in clear beside every payload, so take a date",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			key, err := payloadcodec.NewKey(args[0])
			if err != nil {
				return cli.Misuse(c, err)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "entry (put it into HOLDFAST_PAYLOAD_KEYS, or into the file that "+
				"HOLDFAST_PAYLOAD_KEYS_FILE names, of every process; keep a copy, for without it histories cannot be read):\n  %s\n",
				key.Entry())
			return err
		},
	}
}
