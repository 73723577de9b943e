package yardstick

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/valyala/fasthttp"
)

// Refuser answers 401 to everything and looks at nothing.
func Refuser(ctx context.Context, out io.Writer) error {
	return serve(ctx, func(c *fasthttp.RequestCtx) { c.SetStatusCode(fasthttp.StatusUnauthorized) }, out)
}

// serve serves at a free port, which it prints, until the context ends.
func serve(ctx context.Context, handler fasthttp.RequestHandler, out io.Writer) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &fasthttp.Server{Handler: handler}
	go func() {
		<-ctx.Done()
		_ = server.Shutdown()
	}()
	fmt.Fprintln(out, "http://"+listener.Addr().String())
	return server.Serve(listener)
}
