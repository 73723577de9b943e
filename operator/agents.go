package operator

import (
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"google.golang.org/grpc/test/bufconn"

	"holdfast/operator/access"
	"holdfast/operator/agents"
	"holdfast/operator/guard"
	"holdfast/operator/httpapi"
)

// agentDoor serves agents. The requests of their tools reach this server again, through a listener in memory, so that each passes
// the same checks as one from outside. It costs nothing before the first agent.
type agentDoor struct {
	server *Server
	inner  *bufconn.Listener
	client *http.Client

	open sync.Once
	// reading serves the tools that change nothing, and writing all.
	reading, writing fiber.Handler
}

const (
	// innerBuffer is in bytes.
	innerBuffer = 64 << 10
	// maxInner bounds the tools' requests in progress: one message of an agent can call hundreds of tools. The others wait.
	maxInner = 16
	// longestCall bounds a message of an agent. None takes that long, unless the protocol's library waits for something.
	longestCall = 2 * time.Minute
)

func newAgentDoor(s *Server) *agentDoor {
	d := &agentDoor{server: s, inner: bufconn.Listen(innerBuffer)}
	d.client = &http.Client{Transport: &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return d.inner.DialContext(ctx) },
		MaxConnsPerHost: maxInner,
	}}
	return d
}

func (d *agentDoor) route() httpapi.Route {
	return httpapi.Post("useTools", "/mcp", "Tools for agents: the Model Context Protocol", d.answer).
		Explain("Streamable HTTP without sessions. An agent has its token's role; the tools that change something need an operator.").
		Takes(httpapi.Text{MediaType: fiber.MIMEApplicationJSON, About: "A JSON-RPC message."}).
		Returns(fiber.StatusOK, map[string]any{}).
		Returns(fiber.StatusAccepted, nil)
}

// answer refuses callers with only a session: the tools' requests have the token of the agent's request.
func (d *agentDoor) answer(c *fiber.Ctx) error {
	if !guard.HasToken(c) {
		c.Set(fiber.HeaderWWWAuthenticate, "Bearer")
		return &httpapi.RefusalError{
			Code:   httpapi.CodeUnauthenticated,
			Detail: "Agents can't use the console's login. Show a token: Authorization: Bearer …",
		}
	}
	d.open.Do(d.build)
	if httpapi.CallerOf(c).Role.Includes(access.RoleOperator) {
		return d.writing(c)
	}
	return d.reading(c)
}

func (d *agentDoor) build() {
	o := agents.Options{URL: "http://localhost", Client: d.client, Version: d.server.version}
	d.reading = serveAgents(o)
	o.Writes = true
	d.writing = serveAgents(o)
	go func() { _ = d.server.app.Server().Serve(d.inner) }() // it ends with the server
}

// serveAgents serves the tools. Fiber ends a request's context when a shutdown begins, but a replay that was started must be
// reported, and it uses the context again for the next request.
func serveAgents(o agents.Options) fiber.Handler {
	h := agents.NewHandler(o)
	return adaptor.HTTPHandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(context.Background(), longestCall)
		defer cancel()
		h.ServeHTTP(w, r.WithContext(ctx))
	})
}

func (d *agentDoor) close() {
	d.client.CloseIdleConnections()
	_ = d.inner.Close()
}
