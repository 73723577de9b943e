package admin

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"holdfast/internal/cli"
	"holdfast/internal/config"
)

// HealthCommand returns the health check for containers without a shell and curl.
func HealthCommand() *cobra.Command {
	var at string
	command := &cobra.Command{
		Use:     "health",
		Short:   "Check whether a running Holdfast is ready (exit 1 if not)",
		Long:    "Check whether a running Holdfast is ready: GET /readyz, unless --operator has its own path.",
		Example: "  holdfast health\n  holdfast health --operator http://10.0.0.7:8081/healthz",
		RunE: func(c *cobra.Command, _ []string) error {
			if at == "" {
				cfg, _, err := config.LoadBesideDev()
				if err != nil {
					return err
				}
				at = "http://" + cfg.Operator.Addr
			}
			return checkHealth(c, at)
		},
	}
	command.Flags().StringVar(&at, "operator", "",
		"the operator port of a running Holdfast (default: http:// and HOLDFAST_OPERATOR_ADDR)")
	cli.AddJSONFlag(command)
	return command
}

func checkHealth(c *cobra.Command, at string) error {
	u, err := url.Parse(at)
	if err != nil || !cli.IsURL(at) {
		return cli.UsageError(c, fmt.Errorf("invalid --operator %q: use http://… or https://…", at))
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/readyz"
	}
	ctx, cancel := context.WithTimeout(c.Context(), 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return err
	}
	response, err := cli.NewHTTPClient().Do(request)
	if err != nil {
		return cli.Unreachable(err, at, cli.NamedBy(c, "operator", "HOLDFAST_OPERATOR_ADDR"))
	}
	defer response.Body.Close()
	if _, err := io.Copy(c.OutOrStdout(), io.LimitReader(response.Body, 64<<10)); err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s responded %s", u, response.Status)
	}
	return nil
}
