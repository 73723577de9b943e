package postgres

// MaxPageBytes is the max size in bytes of the bodies that a page reads at once. A larger body is a page of its own.
const MaxPageBytes = 16 << 20

// FitsPage is the SQL of a column of a page's rows: whether the row and those before it have at most MaxPageBytes, or it is the
// first one. It needs a column size, and a WINDOW page with the order of the rows. Bodies that don't fit never leave PostgreSQL.
// 16 << 20 is MaxPageBytes.
const FitsPage = `(sum(size) OVER page <= 16 << 20 OR sum(size) OVER page = size)`
