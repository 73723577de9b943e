package audit

import (
	"context"

	"github.com/jackc/pgx/v5"

	"holdfast/event/oversight"
	"holdfast/persistence/postgres"
)

// maxSessions is how many sessions a token can have at once; a further one replaces the one that expires first.
const maxSessions = 100

const (
	openSession = `INSERT INTO sessions (id, token, fingerprint, expires_at) VALUES ($1, $2, $3, $4)`

	makeRoomForSession = `
DELETE FROM sessions WHERE id = ANY (ARRAY(
       SELECT id FROM sessions WHERE token = $1 ORDER BY expires_at DESC OFFSET $2 FOR UPDATE SKIP LOCKED))`

	selectSession = `
SELECT id, token, fingerprint, expires_at FROM sessions WHERE id = $1 AND expires_at > clock_timestamp()`

	closeSession = `DELETE FROM sessions WHERE id = $1`

	// PurgeSessions removes up to $2 sessions that expired before $1.
	PurgeSessions = `
DELETE FROM sessions WHERE id = ANY (ARRAY(
       SELECT id FROM sessions WHERE expires_at < $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))`
)

// OpenSession stores a session, with the audit entry of the login.
func (s *Store) OpenSession(ctx context.Context, session oversight.Session, by oversight.Actor) error {
	b := &pgx.Batch{}
	b.Queue(makeRoomForSession, session.Token, maxSessions-1)
	b.Queue(openSession, session.ID, session.Token, session.Fingerprint, session.ExpiresAt)
	Queue(b, by.Did(oversight.AuditLogin, "console", nil))
	return postgres.Failure("open session", s.db.SendOnly(ctx, b))
}

// Session returns a session that has not expired. It returns event.ErrNotFound if none has this ID.
func (s *Store) Session(ctx context.Context, id []byte) (session oversight.Session, err error) {
	err = s.db.QueryRow(ctx, selectSession, id).Scan(&session.ID, &session.Token, &session.Fingerprint, &session.ExpiresAt)
	return session, postgres.Failure("read session", err)
}

// CloseSession removes a session, with the audit entry of the logout. It does nothing if there is none.
func (s *Store) CloseSession(ctx context.Context, id []byte, by oversight.Actor) error {
	_, err := Change(ctx, s.db, by.Did(oversight.AuditLogout, "console", nil), closeSession, id)
	return postgres.Failure("close session", err)
}
