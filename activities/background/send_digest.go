package background

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"holdfast/event/oversight"
)

// maxDigestLines bounds the groups of failures in one message; the others are only counted.
const maxDigestLines = 12

// settleTimeout bounds the write after a message.
const settleTimeout = 10 * time.Second

// Digest is the result of one round of notifications.
type Digest struct {
	// Failures is the number of unsent failures, Kinds the number of their groups.
	Failures int64 `json:"failures"`
	Kinds    int   `json:"kinds"`
	// Channels is how many channels accepted the message. If none did, the next round sends the same failures and newer ones.
	Channels int    `json:"channels"`
	Error    string `json:"error,omitempty"`
}

// SendDigest sends one message about all failures since the last one. A storm is one line with a count. A channel that rejects
// the message doesn't fail this activity: an immediate retry wouldn't help. The alerts are claimed before the message is sent,
// so that a store that can't be written stops the messages rather than repeating them.
func (u *Upkeep) SendDigest(ctx context.Context) (digest Digest, err error) {
	if !u.Notifier.Enabled() {
		return digest, nil
	}
	claim, alerts, err := u.Alerts.ClaimAlerts(ctx)
	if err != nil || len(alerts) == 0 {
		return digest, err
	}
	groups := oversight.GroupAlerts(alerts)
	digest.Kinds = len(groups)
	for _, g := range groups {
		digest.Failures += g.Count
	}
	sent, failed := u.Notifier.Send(ctx, u.text(digest, groups))
	digest.Channels = sent
	if failed != nil {
		digest.Error = failed.Error()
		slog.WarnContext(ctx, "notification.failed", "error", digest.Error)
	}
	// The claim is settled even if this attempt's context has ended.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	return digest, u.Alerts.SettleAlerts(ctx, claim, alerts, sent > 0)
}

func (u *Upkeep) text(digest Digest, groups []oversight.AlertGroup) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d failed", u.From, digest.Failures)
	for i, g := range groups {
		if i == maxDigestLines {
			fmt.Fprintf(&b, "\n… and %d other kinds", len(groups)-i)
			break
		}
		b.WriteString("\n" + line(g))
	}
	b.WriteString("\nSee: " + strings.Join(commands(groups), " · "))
	return b.String()
}

// commands returns those that show what failed: dead letters, which have no phase, and entries of the error log.
func commands(groups []oversight.AlertGroup) (all []string) {
	for _, one := range []struct {
		command string
		isEntry bool
	}{{"holdfast dlq list", false}, {"holdfast error list", true}} {
		if slices.ContainsFunc(groups, func(g oversight.AlertGroup) bool { return (g.Phase != "") == one.isEntry }) {
			all = append(all, one.command)
		}
	}
	return all
}

// line is "stripe · rejected · malformed_json × 1000, 12:03:04 to 12:03:40 UTC, e.g. stripe:evt_1".
func line(g oversight.AlertGroup) string {
	var parts []string
	for _, part := range []string{string(g.Phase), g.Provider, string(g.Class), g.Code} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	text := fmt.Sprintf("%s × %d, %s", strings.Join(parts, " · "), g.Count, g.First.UTC().Format("Jan 2 15:04:05"))
	if g.Last.Sub(g.First) >= time.Second {
		text += " to " + g.Last.UTC().Format("15:04:05")
	}
	text += " UTC"
	if g.Example != "" {
		text += ", e.g. " + g.Example
	}
	return text
}
