package operatorapi

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"time"

	"holdfast/internal/config"
	"holdfast/internal/doctor"
	"holdfast/internal/lint"
	"holdfast/internal/telemetry"
	"holdfast/operator"
	"holdfast/operator/access"
	"holdfast/operator/console"
	"holdfast/operator/console/plot"
	"holdfast/persistence"
)

// Console returns the console over the API.
func (s Side) Console(o operator.Options, store *persistence.Store, history *telemetry.History) *console.Console {
	shown := console.Options{
		API: o.API, Prefix: o.Prefix, Version: o.Version, Log: slog.Default(),
		Doctor: doctor.NewWatch(s.Config, store, s.Temporal).Last, History: historyOf(history),
		Definitions: s.Catalogue(), Refusals: o.Refusals, PublicURL: s.Config.Ingress.PublicURL,
		Replaying: lint.Replaying{
			Base: s.Config.Replay.Base, Attempts: s.Config.Replay.Attempts, Off: !s.Config.Replay.Automatic,
		},
		Namespace: s.Config.Temporal.Namespace, TraceURL: s.Config.Operator.TraceURL,
	}
	if len(o.TemporalWeb) > 0 {
		shown.TemporalWeb = o.TemporalWeb[0]
	}
	return console.New(shown)
}

func historyOf(history *telemetry.History) plot.History {
	return func(prefix string, since time.Duration) (time.Duration, []plot.Series) {
		read := history.Read(prefix, since)
		all := make([]plot.Series, 0, len(read.Series))
		for _, s := range read.Series {
			all = append(all, plot.Series(s))
		}
		return time.Duration(read.StepSeconds * float64(time.Second)), all
	}
}

// Link returns the URL of the process's console. If the console needs a token, the link logs in as the most privileged one, once
// and for some minutes, with a ticket that the process must accept. It returns "" if the port isn't known yet.
func Link(cfg config.Operator) (link string, tickets *access.LoginLinks, err error) {
	tickets = &access.LoginLinks{}
	tokens, err := access.ParseTokens(cfg.Tokens.Reveal())
	if err != nil {
		return "", nil, fmt.Errorf("HOLDFAST_OPERATOR_TOKENS: %w", err)
	}
	if _, port, _ := net.SplitHostPort(cfg.Addr); port == "0" {
		return "", tickets, nil
	}
	home := "http://" + cfg.Addr + string(cfg.Prefix) + console.Home
	if len(tokens) == 0 {
		return home, tickets, nil
	}
	most := slices.MaxFunc(tokens, func(a, b access.Token) int {
		return slices.Index(access.Roles(), a.Role) - slices.Index(access.Roles(), b.Role)
	})
	return home + "/login?" + url.Values{"ticket": {tickets.Make(most.Name)}}.Encode(), tickets, nil
}
