package persistence_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

const schemaPage = "../docs/schema.md"

var (
	sqlBlock = regexp.MustCompile("(?s)```sql\n(.*?)```")
	byIndex  = regexp.MustCompile("`([a-z]+_by_[a-z]+)`")
)

// The SQL of the page for analysts works as documented, and the indexes that it names exist. Its role belongs to the whole
// cluster, so it gets a different name here.
func TestTheSQLOfTheSchemaPageWorks(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(schemaPage)
	require.NoError(t, err)
	db := open(t)
	role := "analyst_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	t.Cleanup(func() {
		_, err := db.sql.Exec(context.Background(), "DROP OWNED BY "+role+"; DROP ROLE "+role)
		require.NoError(t, err)
	})
	blocks := sqlBlock.FindAllStringSubmatch(string(page), -1)
	require.Greater(t, len(blocks), 5)
	for _, block := range blocks {
		text := regexp.MustCompile(`\banalyst\b`).ReplaceAllString(block[1], role)
		_, err := db.sql.Exec(t.Context(), text)
		require.NoError(t, err, text)
	}
	for _, name := range byIndex.FindAllStringSubmatch(string(page), -1) {
		var is bool
		require.NoError(t, db.sql.QueryRow(t.Context(), "SELECT to_regclass($1) IS NOT NULL", name[1]).Scan(&is))
		require.True(t, is, name[1])
	}
}
