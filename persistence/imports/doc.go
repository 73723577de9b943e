// Package imports stages the items of an import until they are applied, page by page. A file is staged completely before any of
// it is applied; a page reads its rows, passes them to the writer of events, and removes them, in one transaction.
//
// It must not depend on a file's format, on the content of definitions, or on the pace of the pages.
//
// # Archived items
//
// An event of the archive comes back in four steps:
//
//  1. Read: holdfast import reads the archive's files (package archive). Each line keeps its ID, key and receipt
//     (operator/importer/stored.go).
//  2. Parse: item.go parses the body with today's definition. If the definition can't parse it, the event becomes an open dead
//     letter instead. A discarded event isn't parsed.
//  3. Write: the writer stores the event and its entities without deliveries (persistence/writer/import.go). It skips events that
//     exist, live or imported.
//  4. Restore: restored.go sets the archived status, times and run ID in the same transaction, which also stores the
//     state that was fetched for the event.
//
// A dead letter of the archive isn't parsed: it claims the key of its event and comes back closed, as it was archived.
package imports
