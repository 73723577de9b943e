package persistence

// CheckpointEvery makes the store keep a checkpoint of an entity for each so many changes.
func (s *Store) CheckpointEvery(n int64) { s.every = n }

// WriteBase is the statement that a page of a collapse ends with.
const WriteBase = writeBase
