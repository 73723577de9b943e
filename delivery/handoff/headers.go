package handoff

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// PlainHeaders omits the routing headers that gRPC can't send. The SDK (1.50.0, also 1.51.0) copies workflow IDs, task queues and
// namespaces into headers, and gRPC fails each call whose header isn't printable ASCII. Requests name all of these themselves:
// the headers only help proxies, and earlier SDKs sent none. The interceptor runs after the SDK's own.
func PlainHeaders() grpc.DialOption {
	return grpc.WithChainUnaryInterceptor(func(
		ctx context.Context, method string, in, out any, c *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
	) error {
		return invoke(withPlainHeaders(ctx), method, in, out, c, options...)
	})
}

// routingHeaders are the headers that the SDK derives from a request.
var routingHeaders = []string{"temporal-resource-id", "temporal-namespace"}

func withPlainHeaders(ctx context.Context) context.Context {
	all, _ := metadata.FromOutgoingContext(ctx) // a copy
	dropped := false
	for _, name := range routingHeaders {
		if !slices.ContainsFunc(all.Get(name), func(value string) bool { return !isPlain(value) }) {
			continue
		}
		all.Delete(name)
		dropped = true
	}
	if !dropped {
		return ctx
	}
	return metadata.NewOutgoingContext(ctx, all)
}

func isPlain(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}
