package definition

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"holdfast/providers"
)

func newCommand() *cobra.Command {
	var dir string
	var oldPaths bool
	command := &cobra.Command{
		Use:   "new NAME",
		Short: "Print a commented definition to begin with, or write it into a folder",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			begin := providers.Skeleton
			if oldPaths {
				begin = providers.OldPaths
			}
			text, err := begin(args[0])
			if err != nil {
				return err
			}
			if dir == "" {
				_, err = fmt.Fprint(c.OutOrStdout(), text)
				return err
			}
			return writeSkeleton(c.OutOrStdout(), filepath.Join(dir, args[0]+".yaml"), text)
		},
	}
	command.Flags().StringVar(&dir, "dir", "", "folder to write NAME.yaml into; a file that is there already is left alone")
	command.Flags().BoolVar(&oldPaths, "old-paths", false,
		"an override that opens the paths of the system that the provider's events went to before")
	return command
}

func writeSkeleton(w io.Writer, path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "wrote %s\n", path)
	return err
}
