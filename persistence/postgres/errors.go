package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"holdfast/event"
)

// Failure converts err to an event.Error, prefixed with the operation. The text of the driver is dropped here: messages and
// details of PostgreSQL quote values, so only SQLSTATE and names of the schema are kept.
func Failure(doing string, err error) error {
	if err == nil {
		return nil
	}
	var known *event.Error
	if errors.As(err, &known) {
		return fmt.Errorf("%s: %w", doing, known)
	}
	var state *event.StateError
	if errors.As(err, &state) {
		return fmt.Errorf("%s: %w", doing, state)
	}
	var decision *event.DecisionError
	if errors.As(err, &decision) {
		return fmt.Errorf("%s: %w", doing, decision)
	}
	var duplicate *event.DuplicateError
	if errors.As(err, &duplicate) {
		return fmt.Errorf("%s: %w", doing, duplicate)
	}
	var collapsed *event.CollapsedError
	if errors.As(err, &collapsed) {
		return fmt.Errorf("%s: %w", doing, collapsed)
	}
	if errors.Is(err, pgx.ErrNoRows) || errors.Is(err, event.ErrNotFound) {
		return fmt.Errorf("%s: %w", doing, event.ErrNotFound)
	}
	return fmt.Errorf("%s: %w", doing, classify(err))
}

func classify(err error) *event.Error {
	var pg *pgconn.PgError
	var connect *pgconn.ConnectError
	switch {
	case errors.As(err, &connect):
		return connectError(connect)
	case errors.As(err, &pg):
		return serverError(pg)
	case errors.Is(err, context.DeadlineExceeded):
		return &event.Error{Class: event.ClassTransient, Code: "deadline_exceeded", Err: context.DeadlineExceeded}
	case errors.Is(err, context.Canceled):
		return &event.Error{Class: event.ClassTransient, Code: "canceled", Err: context.Canceled}
	case errors.Is(err, puddle.ErrClosedPool):
		return &event.Error{Class: event.ClassTransient, Code: "store_closed", Text: "the process is shutting down"}
	case isConnectionLoss(err):
		return &event.Error{Class: event.ClassTransient, Code: "connection_lost", Text: "the database connection broke"}
	default:
		// Encoding and scanning errors are mistakes in this package. The text may contain values, the type does not.
		return &event.Error{Class: event.ClassFailed, Code: "driver_error", Text: fmt.Sprintf("%T", err)}
	}
}

// connectError is always transient, also for wrong credentials and a missing database: none of it is the event's fault.
func connectError(err *pgconn.ConnectError) *event.Error {
	e := &event.Error{Class: event.ClassTransient, Code: "connection_failed", Text: "the database cannot be reached"}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		e.Text = "the database refuses the connection: " + conditionOf(pg.Code) + ", SQLSTATE " + pg.Code
		if pg.Code == "08P01" { // PgBouncer uses it for settings made at connect
			e.Text += "; if " + errPooler.Text
		}
	}
	return e
}

func isConnectionLoss(err error) bool {
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err) || pgconn.Timeout(err)
}

func serverError(pg *pgconn.PgError) *event.Error {
	var text strings.Builder
	text.WriteString("SQLSTATE " + pg.Code)
	for _, part := range []struct{ label, name string }{
		{"constraint", pg.ConstraintName}, {"table", pg.TableName}, {"column", pg.ColumnName},
	} {
		if part.name != "" {
			fmt.Fprintf(&text, ", %s %s", part.label, part.name)
		}
	}
	return &event.Error{Class: classOf(pg), Code: conditionOf(pg.Code), Text: text.String()}
}
