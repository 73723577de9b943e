package operate

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
)

// HealthCommand is the health check of a container that has no shell and no curl.
func HealthCommand() *cobra.Command {
	var url string
	command := &cobra.Command{
		Use:     "health",
		Short:   "Ask a running Holdfast whether it is ready (exit 1 if not)",
		GroupID: cli.GroupOperate,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return checkHealth(c.Context(), url, c.OutOrStdout())
		},
	}
	command.Flags().StringVar(&url, "url", "http://127.0.0.1:8081/readyz", "address of /readyz or /healthz")
	return command
}

func checkHealth(ctx context.Context, url string, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: &http.Transport{Proxy: nil}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(out, io.LimitReader(response.Body, 64<<10)); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return nil
}
