package devstack

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/protobuf/types/known/durationpb"
)

// Retention is how long a closed run stays readable; the dev server's default of a day wouldn't last a weekend.
const Retention = 72 * time.Hour

// Namespace describes what a server must provide before it is used.
type Namespace struct {
	Address string // host:port of the frontend
	Name    string
	// SearchAttributes by name: Keyword, Text, Int, Double, Bool, Datetime or KeywordList.
	SearchAttributes map[string]string
}

// Ready brings the server to the desired state and returns nil once it is reached. Callers repeat it until then, so each step
// must be idempotent.
func (t Namespace) Ready(ctx context.Context) error {
	c, err := client.DialContext(ctx, client.Options{
		HostPort:  t.Address,
		Namespace: t.Name,
		Logger:    log.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.CheckHealth(ctx, &client.CheckHealthRequest{}); err != nil {
		return fmt.Errorf("check health: %w", err)
	}
	if err := t.ensureRetention(ctx, c); err != nil {
		return err
	}
	return t.ensureSearchAttributes(ctx, c)
}

// ensureRetention sets the namespace's retention; start-dev has no flag for it.
func (t Namespace) ensureRetention(ctx context.Context, c client.Client) error {
	described, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{
		Namespace: t.Name,
	})
	if err != nil {
		return fmt.Errorf("describe namespace: %w", err)
	}
	if described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration() == Retention {
		return nil
	}
	_, err = c.WorkflowService().UpdateNamespace(ctx, &workflowservice.UpdateNamespaceRequest{
		Namespace: t.Name,
		Config: &namespace.NamespaceConfig{
			WorkflowExecutionRetentionTtl: durationpb.New(Retention),
		},
	})
	if err != nil {
		return fmt.Errorf("set retention of namespace: %w", err)
	}
	return nil
}

// ensureSearchAttributes adds the attributes that an older database file lacks (the server's flag applies only to new files) and
// then checks with a query that they work, because registered attributes take a moment to become visible.
func (t Namespace) ensureSearchAttributes(ctx context.Context, c client.Client) error {
	if len(t.SearchAttributes) == 0 {
		return nil
	}
	known, err := c.OperatorService().ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{
		Namespace: t.Name,
	})
	if err != nil {
		return fmt.Errorf("list search attributes: %w", err)
	}
	missing := map[string]enums.IndexedValueType{}
	var queries []string
	for name, kind := range t.SearchAttributes {
		queries = append(queries, name+" IS NULL")
		if _, ok := known.GetCustomAttributes()[name]; ok {
			continue
		}
		if missing[name], err = enums.IndexedValueTypeFromString(kind); err != nil {
			return fmt.Errorf("search attribute %s: %w", name, err)
		}
	}
	if len(missing) > 0 {
		_, err := c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
			Namespace: t.Name, SearchAttributes: missing,
		})
		if err != nil {
			return fmt.Errorf("add search attributes: %w", err)
		}
	}
	_, err = c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: t.Name, Query: strings.Join(queries, " AND "),
	})
	if err != nil {
		return fmt.Errorf("query by search attributes: %w", err)
	}
	return nil
}

// Ping is Ready with a short timeout.
func (t Namespace) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return t.Ready(ctx)
}
