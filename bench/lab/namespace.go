package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"google.golang.org/protobuf/types/known/durationpb"

	"holdfast/workflows"
)

// namespaceRetention is Temporal's minimum.
const namespaceRetention = 24 * time.Hour

// searchAttributesQuery has all search attributes of the product.
var searchAttributesQuery = fmt.Sprintf("%s IS NULL AND %s IS NULL",
	workflows.SearchProvider.GetName(), workflows.SearchEventType.GetName())

// Namespace returns the namespace of the product with a database. Each has its own, so that two products are independent.
func (l *Lab) Namespace(database string) string {
	if database == ProductDatabase {
		return l.Temporal.Namespace()
	}
	return database
}

func (l *Lab) clientOptions(database string) client.Options {
	return client.Options{
		HostPort: l.Temporal.Address(), Namespace: l.Namespace(database), Logger: log.NewStructuredLogger(l.Log),
	}
}

// makeNamespace returns when Temporal has created the namespace; it takes some seconds to reach all of Temporal.
func (l *Lab) makeNamespace(ctx context.Context, database string) error {
	c, err := client.NewNamespaceClient(l.clientOptions(database))
	if err != nil {
		return err
	}
	defer c.Close()
	err = c.Register(ctx, &workflowservice.RegisterNamespaceRequest{
		Namespace: l.Namespace(database), WorkflowExecutionRetentionPeriod: durationpb.New(namespaceRetention),
	})
	var exists *serviceerror.NamespaceAlreadyExists
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("make namespace of %s: %w", database, err)
	}
	return nil
}

// awaitSearchAttributes returns when Temporal knows the search attributes of a namespace. It caches namespaces for some
// seconds, and refuses starts with newer attributes.
func (l *Lab) awaitSearchAttributes(ctx context.Context, database string) error {
	c, err := client.DialContext(ctx, l.clientOptions(database))
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	for {
		_, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: searchAttributesQuery})
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("await search attributes of %s: %w", database, err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
