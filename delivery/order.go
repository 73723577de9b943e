package delivery

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// MaxOrderKey bounds an order key, in bytes. A longer one is replaced by its SHA-256, which groups the same deliveries.
const MaxOrderKey = 200

// OrderKey returns the key for a value of order_by: a string as it is, any other value as JSON. Null and "" give no key: such a
// delivery isn't ordered. Characters that PostgreSQL can't store are replaced.
func OrderKey(value any) (string, error) {
	key, isText := value.(string)
	if !isText && value != nil {
		text, err := json.Marshal(value)
		if err != nil {
			return "", fmt.Errorf("encode order key: %w", err)
		}
		key = string(text)
	}
	if len(key) > MaxOrderKey {
		sum := sha256.Sum256([]byte(key))
		return "sha256:" + hex.EncodeToString(sum[:]), nil
	}
	return strings.ToValidUTF8(strings.ReplaceAll(key, "\x00", "\ufffd"), "\ufffd"), nil
}

// orderResult is the key of an event for one order_by.
type orderResult struct {
	key    string
	failed bool
}

// orderOf evaluates an order_by, once for an event.
func (s *filterInput) orderOf(ctx context.Context, f *filter) orderResult {
	if known, has := s.keys[f]; has {
		return known
	}
	var result orderResult
	value, err := f.value(ctx, s)
	if err == nil {
		result.key, err = OrderKey(value)
	}
	result.failed = err != nil
	if s.keys == nil {
		s.keys = map[*filter]orderResult{}
	}
	s.keys[f] = result
	return result
}

// KeyOf returns the order key of an event for a subscription; "" if this delivery isn't ordered. failed means that order_by
// couldn't be evaluated.
func (s Subscription) KeyOf(ctx context.Context, m Message) (key string, failed bool) {
	if s.OrderBy == "" {
		return "", false
	}
	seen := &filterInput{message: m}
	result := seen.orderOf(ctx, newFilter(string(s.OrderBy)))
	return result.key, result.failed
}

// Ordered describes the open ordered deliveries of a subscription.
type Ordered struct {
	// Heads are the keys whose head has been there the longest. The head of a key is the one delivery of it that may be attempted.
	Heads []OrderHead `json:"heads"`
	// Keys counts keys with a head, up to 10,000.
	Keys int `json:"keys"`
	// Waiting counts the deliveries behind heads, up to 10,000.
	Waiting int `json:"waiting"`
	// Unsorted counts deliveries, up to 10,000, that wait for the end of transactions that began before the one that queued them.
	Unsorted int `json:"unsorted"`
	// UnsortedSince is when the first unsorted delivery was queued, or skipped.
	UnsortedSince *time.Time `json:"unsorted_since,omitempty"`
}

// MaxOrderCounted bounds the counts of ordered deliveries, MaxOrderHeads the heads in a list.
const (
	MaxOrderCounted = 10_000
	MaxOrderHeads   = 100
)

// OrderHead is the head of a key.
type OrderHead struct {
	OrderKey string `json:"order_key"`
	EventID  string `json:"event_id" jsonschema:"format=uuid"`
	Status   Status `json:"status"`
	// Paused: an operator has paused the key.
	Paused   bool   `json:"paused,omitempty"`
	Attempts int    `json:"attempts"`
	Code     string `json:"code,omitempty"`
	// Since is when the delivery became the head.
	Since time.Time  `json:"since"`
	DueAt *time.Time `json:"due_at,omitempty"`
	// Waiting counts the deliveries behind it. Above 1,000 it is an upper bound: some of those counted may have been canceled.
	Waiting int `json:"waiting"`
}

// OrderBacklog describes the open ordered deliveries of all subscriptions, including deleted ones.
type OrderBacklog struct {
	// Blocked counts keys whose head has been there for longer than OrderBlockedAfter while others wait behind it.
	Blocked int
	// OldestHead is the age of the oldest head with others behind it, OldestUnsorted that of the first delivery that isn't sorted.
	OldestHead, OldestUnsorted time.Duration
	// Examples names some of the subscriptions with blocked keys.
	Examples []string
}

// OrderBlockedAfter is how long a delivery may be the head of its key before it is reported to block the others.
const OrderBlockedAfter = 5 * time.Minute
