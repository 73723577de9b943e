package operate

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/payloadcodec"
)

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
