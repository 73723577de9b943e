package operator

import (
	"context"
	"net"
	"net/http"
	"sync"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"google.golang.org/grpc/test/bufconn"

	"holdfast/operator/access"
	"holdfast/operator/agents"
	"holdfast/operator/httpapi"
)

// agentDoor serves agents. What their tools ask reaches this server again, through a listener in memory, so that each request
// passes the same checks as one from outside. It costs nothing before the first agent.
type agentDoor struct {
	server *Server
	inner  *bufconn.Listener
	client *http.Client

	open sync.Once
	// reading and writing have the tools that a viewer may use, and all.
	reading, writing fiber.Handler
}

// innerBuffer is in bytes.
const innerBuffer = 64 << 10

func newAgentDoor(s *Server) *agentDoor {
	d := &agentDoor{server: s, inner: bufconn.Listen(innerBuffer)}
	d.client = &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return d.inner.DialContext(ctx) },
	}}
	return d
}

func (d *agentDoor) route() httpapi.Route {
	return httpapi.Post("useTools", "/mcp", "Tools for agents: the Model Context Protocol", d.answer).
		Explain("Streamable HTTP without sessions. An agent has its token's role; the tools that change something need an operator.").
		Takes(httpapi.Text{MediaType: fiber.MIMEApplicationJSON, About: "A JSON-RPC message."}).
		Returns(fiber.StatusOK, httpapi.Text{MediaType: fiber.MIMEApplicationJSON, About: "The JSON-RPC response."}).
		Returns(fiber.StatusAccepted, nil)
}

func (d *agentDoor) answer(c *fiber.Ctx) error {
	d.open.Do(d.build)
	if httpapi.CallerOf(c).Role.Includes(access.RoleOperator) {
		return d.writing(c)
	}
	return d.reading(c)
}

func (d *agentDoor) build() {
	o := agents.Options{URL: "http://localhost", Client: d.client, Version: d.server.version}
	d.reading = adaptor.HTTPHandler(agents.NewHandler(o))
	o.Writes = true
	d.writing = adaptor.HTTPHandler(agents.NewHandler(o))
	go func() { _ = d.server.app.Server().Serve(d.inner) }() // it ends with the server
}

func (d *agentDoor) close() {
	d.client.CloseIdleConnections()
	_ = d.inner.Close()
}
