package decode

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// Decoded JSON takes three to seven times the bytes of its text, so a process decodes large bodies in turns, of maxTurn bytes
// together.
const (
	noTurn  = 256 << 10 // bytes that never wait
	maxTurn = 25 << 20  // bytes of the largest body that a provider documents
)

var turns = semaphore.NewWeighted(maxTurn)

// Turn waits until a body of this size may be decoded. Call done once its decoded form is no longer used; calls don't nest. Small
// bodies never wait. It fails only if the context ends.
func Turn(ctx context.Context, size int) (done func(), err error) {
	if size <= noTurn {
		return func() {}, nil
	}
	weight := int64(min(size, maxTurn))
	if err := turns.Acquire(ctx, weight); err != nil {
		return nil, err
	}
	return func() { turns.Release(weight) }, nil
}
