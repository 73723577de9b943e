// Package webhook is outbound HTTP to addresses that somebody else has chosen: a Sender of deliveries, and a Client that asks
// questions.
//
//	target, message ──▶ body (raw, envelope, jq) ──▶ sign ──▶ dial, past the guard ──▶ answer ──▶ its class
//
// It reaches no host of the network that it runs in unless it is told that it may, follows no redirect, and bounds all that
// it waits for and reads. It must know neither when an attempt is due nor where deliveries are stored.
package webhook
