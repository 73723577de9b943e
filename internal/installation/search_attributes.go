package installation

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"holdfast/workflows"
)

// searchAttributes are those that runs are started with.
func searchAttributes() map[string]enumspb.IndexedValueType {
	return map[string]enumspb.IndexedValueType{
		workflows.SearchProvider:  enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		workflows.SearchEventType: enumspb.INDEXED_VALUE_TYPE_KEYWORD,
	}
}

// registerSearchAttributes makes the namespace know them; it may run any number of times.
func registerSearchAttributes(ctx context.Context, c client.Client, namespace string) error {
	err := RequireSearchAttributes(ctx, c, namespace)
	if err == nil {
		return nil
	}
	_, err = c.OperatorService().AddSearchAttributes(ctx, &operatorservice.AddSearchAttributesRequest{
		Namespace: namespace, SearchAttributes: searchAttributes(),
	})
	var exists *serviceerror.AlreadyExists
	if err != nil && !errors.As(err, &exists) {
		return fmt.Errorf("register search attributes in namespace %s: %w", namespace, err)
	}
	return nil
}

// RequireSearchAttributes says what to do if the namespace lacks one: without them every start would fail.
func RequireSearchAttributes(ctx context.Context, c client.Client, namespace string) error {
	known, err := c.OperatorService().ListSearchAttributes(ctx,
		&operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("list search attributes of namespace %s: %w", namespace, err)
	}
	for name, kind := range searchAttributes() {
		if known.GetCustomAttributes()[name] != kind {
			return fmt.Errorf("namespace %s has no search attribute %s of type Keyword: run `holdfast migrate`", namespace, name)
		}
	}
	return nil
}
