package stores

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"holdfast/workflows"
)

// searchAttributes returns those that runs are started with.
func searchAttributes() map[string]enumspb.IndexedValueType {
	return map[string]enumspb.IndexedValueType{
		workflows.SearchProvider.GetName():  workflows.SearchProvider.GetValueType(),
		workflows.SearchEventType.GetName(): workflows.SearchEventType.GetValueType(),
	}
}

// registerSearchAttributes adds them to the namespace; it is idempotent. It returns an *AttributesError if Temporal doesn't let
// this client add them, like Temporal Cloud.
func registerSearchAttributes(ctx context.Context, c client.Client, namespace string) error {
	missing, err := missingSearchAttributes(ctx, c, namespace)
	if err != nil || len(missing) == 0 {
		return err
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: searchAttributes(),
	})
	var exists *serviceerror.AlreadyExists
	switch {
	case err == nil || errors.As(err, &exists):
		return nil
	case isRefused(err):
		return &AttributesError{Namespace: namespace, Missing: missing, IsRefused: true}
	default:
		return fmt.Errorf("register search attributes in namespace %s: %w", namespace, err)
	}
}

// AttributesError lists the search attributes that a namespace lacks. Without them every start fails.
type AttributesError struct {
	Namespace string
	Missing   []string
	// IsRefused reports that Temporal doesn't let this client add them.
	IsRefused bool
}

// Error also says what to do.
func (e *AttributesError) Error() string {
	lacks := fmt.Sprintf("namespace %s has no search attribute %s of type Keyword", e.Namespace, strings.Join(e.Missing, ", "))
	if !e.IsRefused {
		return lacks + ": run `holdfast migrate`"
	}
	own, cloud := "temporal operator search-attribute create -n "+e.Namespace, "tcld namespace search-attributes add -n "+e.Namespace
	for _, name := range e.Missing {
		own += " --name " + name + " --type Keyword"
		cloud += " --search-attribute " + name + "=Keyword"
	}
	return lacks + ", and Temporal does not let Holdfast add it. Add it, then run `holdfast migrate` again.\n" +
		"  Temporal Cloud:         " + cloud + "\n" +
		"  a server of your own:   " + own
}

// RequireSearchAttributes returns an *AttributesError if the namespace lacks one.
func RequireSearchAttributes(ctx context.Context, c client.Client, namespace string) error {
	missing, err := missingSearchAttributes(ctx, c, namespace)
	if err == nil && len(missing) > 0 {
		return &AttributesError{Namespace: namespace, Missing: missing}
	}
	return err
}

// missingSearchAttributes returns those that the namespace lacks or has with another type.
func missingSearchAttributes(ctx context.Context, c client.Client, namespace string) (missing []string, err error) {
	known, err := c.OperatorService().ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil && !isRefused(err) {
		return nil, fmt.Errorf("list search attributes of namespace %s: %w", namespace, err)
	}
	isListed := err == nil
	for _, name := range slices.Sorted(maps.Keys(searchAttributes())) {
		has := known.GetCustomAttributes()[name] == searchAttributes()[name]
		if !isListed {
			if has, err = canQuery(ctx, c, name); err != nil {
				return nil, err
			}
		}
		if !has {
			missing = append(missing, name)
		}
	}
	return missing, nil
}

// canQuery reports whether runs can be counted by a search attribute, for a Temporal that doesn't list them.
func canQuery(ctx context.Context, c client.Client, name string) (bool, error) {
	_, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: name + " = 'holdfast'"})
	var invalid *serviceerror.InvalidArgument
	switch {
	case errors.As(err, &invalid):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("look for search attribute %s: %w", name, err)
	}
	return true, nil
}

// isRefused reports that Temporal answers but doesn't allow the call.
func isRefused(err error) bool {
	var denied *serviceerror.PermissionDenied
	var unknown *serviceerror.Unimplemented
	return errors.As(err, &denied) || errors.As(err, &unknown)
}

// Ping checks that Temporal answers. Temporal Cloud refuses a health check from a client with an API key, since it belongs to no
// namespace; Ping then describes the namespace.
func Ping(ctx context.Context, c client.Client, namespace string) error {
	_, err := c.CheckHealth(ctx, &client.CheckHealthRequest{})
	if isRefused(err) {
		_, err = c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	}
	return err
}
