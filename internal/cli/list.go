package cli

import (
	"io"

	"github.com/spf13/cobra"
)

// ListCommand is a command that shows a page of rows, in a table or as JSON. Its filters are flags that the caller adds.
func ListCommand[Row any](
	short string, read func(*cobra.Command, *Tools) ([]Row, error), heading []string, cells func(Row) []string,
) *cobra.Command {
	command := &cobra.Command{
		Use:   "list",
		Short: short,
		Args:  cobra.NoArgs,
		RunE: WithTools(func(c *cobra.Command, t *Tools, _ []string) error {
			page, err := read(c, t)
			if err != nil {
				return err
			}
			provider, _ := c.Flags().GetString(providerFlag) // no such flag is no provider
			DoubtProvider(c, t.Cfg, provider, len(page))
			return Print(c, page, func(w io.Writer) error {
				table := NewTable(w, heading...)
				for _, row := range page {
					table.Row(cells(row)...)
				}
				return table.Flush()
			})
		}),
	}
	AddJSONFlag(command)
	return command
}
