package postgres

import "strconv"

// MaxPageBytes is the max size in bytes of the bodies that a page reads at once. A larger body is a page of its own.
const MaxPageBytes = 16 << 20

// WithinBytes returns the SQL of an array of the first IDs of a page whose bodies fit into MaxPageBytes: at least one, if the
// page isn't empty. sized selects id and size of the page. Bodies that don't fit never leave PostgreSQL.
func WithinBytes(sized string) string {
	return `ARRAY(
       SELECT id FROM (
              SELECT id, size, sum(size::bigint) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) - size AS before
                FROM (` + sized + `) AS sized) AS next
        WHERE before = 0 OR before + size <= ` + strconv.Itoa(MaxPageBytes) + `)`
}

// FitsBytes returns the SQL of a condition on a row of a page that is sorted by a column: its body and those before it have at
// most MaxPageBytes, or it is the first one. size is the SQL of a body's size.
func FitsBytes(size, sortedBy string) string {
	upTo := `sum((` + size + `)::bigint) OVER (ORDER BY ` + sortedBy + ` ROWS UNBOUNDED PRECEDING)`
	return `(` + upTo + ` <= ` + strconv.Itoa(MaxPageBytes) + ` OR ` + upTo + ` = ` + size + `)`
}
